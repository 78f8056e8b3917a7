// Lines of a text, and fields of a line of comma-separated values, without quotes: what stands between commas, less the
// blanks around it.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace tenax::io {

/// `text` without the blanks, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

/// The first field of `text`, which loses it and its comma. Of a text without a comma all is taken.
std::string_view take_field(std::string_view& text);

/// The first line of `text`, trimmed; `text` loses it and its end.
std::string_view take_line(std::string_view& text);

/// A number and nothing else.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = code == std::errc{} && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

}  // namespace tenax::io
