// Lines of a text, and fields of a line of comma-separated values, without quotes: what stands between commas, less the
// blanks around it.
#pragma once

#include <string_view>

#include "kernels/number_text.hpp"

namespace tenax::io {

/// `text` without the blanks, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

/// The first field of `text`, which loses it and its comma. Of a text without a comma all is taken.
std::string_view take_field(std::string_view& text);

/// The first line of `text`, trimmed; `text` loses it and its end.
std::string_view take_line(std::string_view& text);

using kernels::number_of;

}  // namespace tenax::io
