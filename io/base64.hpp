// Base64 (RFC 4648, section 4), as JSON carries bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenax::io {

/// With its padding, without line ends.
std::string to_base64(std::string_view bytes);
/// Nothing where `text` is not what to_base64() writes.
std::optional<std::string> of_base64(std::string_view text);

}  // namespace tenax::io
