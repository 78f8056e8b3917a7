// Outcome: how a bucket's exchange ended, told by the worker to the thread that waits.
#pragma once

#include <atomic>
#include <cassert>

#include "comm/ftar/ftar_error.hpp"

namespace tenax::comm {

/// Thread rule: one thread completes it or lets it fail, once; any asks.
class Outcome {
 public:
  void complete() { set(State::done); }
  void fail(const FtarFailure& failure) {
    failure_ = failure;
    set(State::failed);
  }
  bool is_over() const { return state_.load(std::memory_order_acquire) != State::under_way; }
  /// Throws FtarError if it failed.
  void check() const {
    if (state_.load(std::memory_order_acquire) == State::failed) throw FtarError(failure_);
  }

 private:
  enum class State { under_way, done, failed };
  void set(State state) {
    assert(!is_over());
    state_.store(state, std::memory_order_release);
  }

  std::atomic<State> state_{State::under_way};
  FtarFailure failure_;  // written before the state is
};

}  // namespace tenax::comm
