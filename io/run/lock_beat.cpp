#include "io/run/lock_beat.hpp"

#include <sys/stat.h>

#include <chrono>

#include "kernels/blocked_signals.hpp"
#include "kernels/new_thread.hpp"

namespace tenax::io {

LockBeat::LockBeat(int descriptor, double seconds) {
  const kernels::BlockedSignals blocked;
  thread_ = kernels::new_jthread([=, this](const std::stop_token& stop) { run(stop, descriptor, seconds); });
}

void LockBeat::run(const std::stop_token& stop, int descriptor, double seconds) {
  std::unique_lock lock(mutex_);
  const auto pause = std::chrono::duration<double>(seconds);
  while (!stop.stop_requested()) {
    stopped_.wait_for(lock, stop, pause, [] { return false; });
    if (!stop.stop_requested()) ::futimens(descriptor, nullptr);
  }
}

}  // namespace tenax::io
