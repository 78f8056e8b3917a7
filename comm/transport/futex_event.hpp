// FutexEvent: what a thread sleeps on while it waits for another process, in memory that both have mapped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "kernels/deadline.hpp"

namespace tenax::comm {

/// Zeros at first. One thread waits at a time, any number notify. Nobody spins: who waits sleeps on a futex.
class FutexEvent {
 public:
  enum class Outcome { done, over, deadline };

  /// Whoever changes what the waiter looks at notifies afterwards; all of it is sequentially consistent.
  void notify() noexcept;
  /// For changes that no waiter may miss however it was waiting.
  void notify_always() noexcept;
  /// Sleeps until `ready`; `over` when `is_over` says that nobody will notify any more, which is asked now and then.
  template <class Ready, class Over>
  Outcome wait(const Ready& ready, const Over& is_over, kernels::Deadline deadline);

 private:
  void sleep(std::uint32_t seen, kernels::Deadline deadline);

  alignas(64) std::atomic<std::uint32_t> notifications_{0};
  std::atomic<std::uint32_t> has_waiter_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// Who waits says so (has_waiter_), looks once more, and sleeps while the number is the one it saw before looking. Who
// changes something looks for a waiter afterwards. So at least one of the two sees the other.
template <class Ready, class Over>
FutexEvent::Outcome FutexEvent::wait(const Ready& ready, const Over& is_over, kernels::Deadline deadline) {
  if (ready()) return Outcome::done;
  Outcome outcome = Outcome::done;
  has_waiter_.store(1);
  for (;;) {
    const std::uint32_t seen = notifications_.load();
    const bool over = is_over();  // asked first: the last change may have come before
    if (ready()) break;
    if (over || deadline.expired()) {
      outcome = over ? Outcome::over : Outcome::deadline;
      break;
    }
    sleep(seen, deadline);
  }
  has_waiter_.store(0);
  return outcome;
}

}  // namespace tenax::comm
