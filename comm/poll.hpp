// The one way this folder waits.
#pragma once

#include "kernels/deadline.hpp"

namespace tenax::comm {

/// Polls `ready` until it is true, yielding first and sleeping later; false if the deadline came
/// first. A process that was stopped and goes on after its deadline gets one more look before it
/// gives up.
template <class Ready>
bool poll_until(Ready ready, kernels::Deadline deadline) {
  kernels::Backoff backoff;
  while (!ready()) {
    if (deadline.expired()) return ready();
    backoff.pause();
  }
  return true;
}

/// Measures how long a wait has lasted, for its error message.
class Stopwatch {
 public:
  double elapsed_s() const {
    return std::chrono::duration<double>(kernels::Deadline::Clock::now() - start_).count();
  }

 private:
  kernels::Deadline::Clock::time_point start_ = kernels::Deadline::Clock::now();
};

}  // namespace tenax::comm
