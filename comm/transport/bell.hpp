// Bell: what a thread sleeps on while it waits for another process, in memory that both have mapped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "kernels/deadline.hpp"

namespace tenax::comm {

/// Zeros at first. One thread waits at a time, any number ring. Nobody spins: who waits sleeps on a futex.
class Bell {
 public:
  enum class Outcome { done, over, deadline };

  /// Whoever changes what the waiter looks at rings afterwards; all of it is sequentially consistent.
  void ring() noexcept;
  /// For changes that no waiter may miss however it was waiting.
  void ring_loudly() noexcept;
  /// Sleeps until `ready`; `over` when `is_over` says that nobody will ring any more, which is asked now and then.
  template <class Ready, class Over>
  Outcome wait(const Ready& ready, const Over& is_over, kernels::Deadline deadline);

 private:
  void sleep(std::uint32_t seen, kernels::Deadline deadline);

  alignas(64) std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> has_waiter_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// Who waits says so (has_waiter_), looks once more, and sleeps while the number is the one it saw before looking. Who
// changes something looks for a waiter afterwards. So at least one of the two sees the other.
template <class Ready, class Over>
Bell::Outcome Bell::wait(const Ready& ready, const Over& is_over, kernels::Deadline deadline) {
  if (ready()) return Outcome::done;
  Outcome outcome = Outcome::done;
  has_waiter_.store(1);
  for (;;) {
    const std::uint32_t seen = rings_.load();
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
