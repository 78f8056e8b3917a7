// UTF-8 as it comes from files and command lines: maybe malformed, maybe meant to disturb a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenax::io {

/// Length of the well-formed sequence at the front of `text` (RFC 3629), which is not empty; 0 if there is none.
std::size_t utf8_length(std::string_view text);
/// Length of the control character at the front of `text`, which is not empty: U+0000 to U+001F, U+007F to U+009F. 0 if
/// there is none.
std::size_t control_length(std::string_view text);
/// "U+0481", of the character at the front of `text`; of bytes that are no UTF-8 "the byte 0xff".
std::string character_name(std::string_view text);

/// No message is longer, in bytes.
inline constexpr std::size_t kLongestMessage = 4000;
/// `text` as a message or a listing may show it: control characters as \n, \t, \u001b, bytes that are no UTF-8 as U+FFFD.
/// What is longer than `most` bytes is cut, and the cut said: "abc… (123456 bytes)".
std::string excerpt(std::string_view text, std::size_t most = 200);

}  // namespace tenax::io
