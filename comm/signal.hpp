// Signal: what a thread sleeps on while it waits for any of several things that other threads bring
// about.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "kernels/deadline.hpp"

namespace tenax::comm {

/// Changes, under `mutex`, what threads wait for, then wakes all of them.
template <class Change>
void change_and_notify(std::mutex& mutex, std::condition_variable& changed, Change change) {
  {
    const std::lock_guard lock(mutex);
    change();
  }
  changed.notify_all();
}

/// Thread rule: any thread may notify, one waits. Whoever changes what the waiter looks at notifies
/// afterwards.
class Signal {
 public:
  void notify() {
    change_and_notify(mutex_, changed_, [this] { ++changes_; });
    const std::lock_guard lock(listener_mutex_);
    if (listener_) listener_->notify();
  }
  /// Whoever waits on `listener` hears of this signal too. `listener` must outlive it or be taken
  /// back (null).
  void pass_on_to(Signal* listener) {
    const std::lock_guard lock(listener_mutex_);
    listener_ = listener;
  }

  /// Sleeps until `ready` is true (looked at again after every notify); false if the deadline came
  /// first. `ready` runs without the signal's lock held.
  template <class Ready>
  bool wait_until(Ready ready, kernels::Deadline deadline) {
    for (;;) {
      const std::uint64_t seen = changes();
      if (ready()) return true;
      std::unique_lock lock(mutex_);
      if (!changed_.wait_until(lock, deadline.when(), [&] { return changes_ != seen; })) {
        lock.unlock();
        return ready();
      }
    }
  }

 private:
  std::uint64_t changes() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
  std::mutex listener_mutex_;  // held while the listener is told: once taken back, nobody tells it any more
  Signal* listener_ = nullptr;
};

}  // namespace tenax::comm
