// FutexEvent: wakes a thread of another process, through memory that both have mapped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "kernels/deadline.hpp"

namespace tenax::comm {

/// Zeroed memory is a valid start. One thread waits at a time, any number notify. A waiter does not
/// spin: it sleeps on a futex.
class FutexEvent {
 public:
  enum class Outcome { done, over, deadline };

  /// To be called after a change that `ready` of wait() looks at. All of it is sequentially
  /// consistent.
  void notify() noexcept;
  /// Also wakes a waiter that notify() may take for none.
  void notify_always() noexcept;
  /// Sleeps until `ready`. Asks `is_over` now and then whether nobody will notify any more; then
  /// returns `over`.
  template <class Ready, class Over>
  Outcome wait(const Ready& ready, const Over& is_over, kernels::Deadline deadline);

 private:
  void sleep(std::uint32_t seen, kernels::Deadline deadline);

  alignas(64) std::atomic<std::uint32_t> notifications_{0};
  std::atomic<std::uint32_t> has_waiter_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// Who waits says so (has_waiter_), looks once more, and sleeps while the number is the one it saw
// before looking. Who changes something looks for a waiter afterwards. So at least one of the two
// sees the other.
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
