#include "kernels/deadline.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <thread>

namespace tenax::kernels {

Deadline Deadline::after_s(double seconds) {
  constexpr double kForever_s = 1e9;  // the clock's numbers end not far beyond
  return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(std::min(seconds, kForever_s))));
}

void Backoff::pause() {
  constexpr int kYields = 2000, kLongest_us = 200;
  if (polls_++ < kYields) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
  sleep_us_ = std::min(sleep_us_ * 2, kLongest_us);
}

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
