// Text for people: UTF-8 from files and command lines, which may be malformed or meant to disturb a
// terminal, and labels with their values, as `tenax inspect` shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenax::io {

/// Bytes of the well-formed sequence at the front of `text` (RFC 3629); 0 if there is none. `text`
/// is not empty.
std::size_t utf8_length(std::string_view text);
/// Whether all of `text` is well-formed.
bool is_utf8(std::string_view text);
/// Bytes of the control character (U+0000 to U+001F, U+007F to U+009F) at the front of `text`; 0 if
/// there is none. `text` is not empty.
std::size_t control_length(std::string_view text);
/// `text` without the byte order mark that Windows' programs may have put at its front.
std::string_view without_byte_order_mark(std::string_view text);
/// Names the character at the front of `text`: "U+0481", or "the byte 0xff" where it is not UTF-8.
std::string character_name(std::string_view text);

/// A message has at most as many bytes.
inline constexpr std::size_t kLongestMessage = 4000;
/// `text` as a message or a listing may show it: control characters as \n, \t, \u001b, bytes that
/// are not UTF-8 as U+FFFD. A text of more than `most` bytes is cut: "abc… (123456 bytes)".
std::string excerpt(std::string_view text, std::size_t most = 200);

/// "  label               value\n": the values of consecutive lines are aligned.
std::string listed(const std::string& label, const std::string& value);
/// `text` with spaces behind it: at least one, and as many as make it `width` long.
std::string padded(std::string text, std::size_t width);
/// 1234567 as "1,234,567". `value` is not negative.
std::string grouped(std::int64_t value);

}  // namespace tenax::io
