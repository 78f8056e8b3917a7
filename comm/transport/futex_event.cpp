#include "comm/transport/futex_event.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace tenax::comm {
namespace {

constexpr double kLongestSleep_s = 0.1;  // between two looks whether anybody will notify

}  // namespace

void FutexEvent::notify() noexcept {
  if (has_waiter_.load() != 0) notify_always();
}

void FutexEvent::notify_always() noexcept {
  notifications_.fetch_add(1);
  syscall(SYS_futex, &notifications_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void FutexEvent::sleep(std::uint32_t seen, kernels::Deadline deadline) {
  using std::chrono::nanoseconds;
  const auto left =
      std::chrono::duration_cast<nanoseconds>(deadline.when() - kernels::Deadline::Clock::now());
  const std::int64_t ns =
      std::clamp<std::int64_t>(left.count(), 0, static_cast<std::int64_t>(kLongestSleep_s * 1e9));
  const timespec timeout{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  syscall(SYS_futex, &notifications_, FUTEX_WAIT, seen, &timeout, nullptr,
          0);  // however it ends, the caller looks again
}

}  // namespace tenax::comm
