#include "io/deck/verbs_device.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tenax::io {
namespace {

/// Ports of a device are numbered in a byte; hosts have fewer ranks than this.
constexpr std::int64_t kMostPorts = 255, kMostRanks = 65535;

/// As libibverbs lists them: names of directories in sysfs.
bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

/// Takes what follows the last `mark` off `text`, as a number in [low, high]: into `number`, which stays where there is no
/// mark. False for anything else behind it.
bool take_number(std::string_view& text, char mark, std::int64_t low, std::int64_t high,
                 std::int64_t& number) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return true;
  const std::string_view digits = text.substr(at + 1);
  text = text.substr(0, at);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number >= low && number <= high;
}

}  // namespace

std::optional<VerbsDevice> verbs_device(std::string_view text) {
  VerbsDevice device;
  if (!take_number(text, '@', 0, kMostRanks, device.local_rank) ||
      !take_number(text, ':', 1, kMostPorts, device.port) || !is_name(text))
    return std::nullopt;
  device.name = text;
  return device;
}

}  // namespace tenax::io
