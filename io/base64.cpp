#include "io/base64.hpp"

#include <algorithm>
#include <cstdint>

namespace tenax::io {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kBytes = 3, kDigits = 4;  // of a group

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += kBytes) {
    const std::size_t count = std::min(kBytes, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < kBytes; ++i)
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < kDigits; ++i)
      text += i <= count ? kBase64Digits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> of_base64(std::string_view text) {
  if (text.size() % kDigits != 0) return {};
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += kDigits) {
    const std::string_view group = text.substr(at, kDigits);
    const std::size_t digits = std::min(group.find('='), kDigits);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kDigits; ++i) {
      const std::size_t digit = i < digits ? kBase64Digits.find(group[i]) : 0;
      if (digit == std::string_view::npos) return {};
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i + 1 < digits; ++i) bytes += static_cast<char>(bits >> (16 - 8 * i) & 255);
  }
  if (to_base64(bytes) != text) return {};
  return bytes;
}

}  // namespace tenax::io
