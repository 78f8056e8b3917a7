// Lines for people: labels with their values, as `tenax inspect` shows them.
#pragma once

#include <cstdint>
#include <string>

namespace tenax::io {

/// "  label               value\n": values of consecutive lines stand below each other.
std::string listed(const std::string& label, const std::string& value);
/// `text`, a space at least, and as many as make it `width` long.
std::string padded(std::string text, std::size_t width);
/// 1234567 as "1,234,567". Not negative.
std::string grouped(std::int64_t value);

}  // namespace tenax::io
