#include "kernels/emulated/precise_sleep.hpp"

#include <sys/prctl.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>

namespace tenax::kernels {

void sleep_until_s(double time_s) {
  if (steady_now_s() >= time_s) return;
  // Linux may let a timer fire 50 us late to save wake-ups. Each thread must ask for less; asking again costs
  // a tenth of a microsecond.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  const double whole_s = std::floor(time_s);
  timespec when{};
  when.tv_sec = static_cast<std::time_t>(whole_s);
  when.tv_nsec = static_cast<long>((time_s - whole_s) * 1e9);
  // CLOCK_MONOTONIC is what std::chrono::steady_clock reads on Linux.
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

}  // namespace tenax::kernels
