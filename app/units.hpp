// Numbers as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenax::app {

inline constexpr double kMsPerSecond = 1e3, kSecondsPerMs = 1e-3, kSecondsPerMinute = 60;
inline constexpr std::size_t kBytesPerKib = 1024;

std::string bytes_text(double bytes);       ///< "1.50 GiB"
std::string count_text(double count);       ///< "124.4 M"
std::string rate_text(double flop_per_s);   ///< "312.0 GFLOP/s"
std::string duration_text(double seconds);  ///< "1:02:03", "4:05", "12 s"
/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace tenax::app
