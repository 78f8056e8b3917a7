#include "app/units.hpp"

#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace tenax::app {

namespace {

std::string scaled(double value, double step, const std::array<const char*, 6>& units) {
  std::size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return format(unit == 0 && value == std::floor(value) ? "%.0f%s" : "%.4g%s", value, units[unit]);
}

}  // namespace

std::string format(const char* pattern, ...) {
  std::va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, pattern, arguments)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::string bytes_text(double bytes) {
  return scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"});
}
std::string count_text(double count) { return scaled(count, 1000, {"", " k", " M", " G", " T", " P"}); }
std::string rate_text(double flop_per_s) {
  return scaled(flop_per_s, 1000, {" FLOP/s", " kFLOP/s", " MFLOP/s", " GFLOP/s", " TFLOP/s", " PFLOP/s"});
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return format("%lld s", whole);
  if (whole < 3600) return format("%lld:%02lld", whole / 60, whole % 60);
  return format("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace tenax::app
