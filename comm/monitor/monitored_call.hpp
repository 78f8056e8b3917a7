// What the functions of this library are made of that stand in front of MPI's and NCCL's.
#pragma once

#include <atomic>
#include <cstdint>

#include "comm/monitor/call_recorder.hpp"

namespace tenax::comm::monitor {

struct CallSize {
  std::int64_t bytes = 0, ranks = 0;
};

/// Calls that the calling thread is in.
extern constinit thread_local int call_depth;

/// While it lives, further calls of this thread are inside of this one, and not recorded.
class MonitoredCall {
 public:
  /// `size` returns a CallSize, and is asked only where the call is recorded.
  template <class Size>
  MonitoredCall(const char* name, Size size) {
    if (call_depth++ || !call_recorder().is_on()) return;
    const CallSize known = size();
    call_recorder().add(name, known.bytes, known.ranks);
  }
  ~MonitoredCall() { --call_depth; }
  MonitoredCall(const MonitoredCall&) = delete;
  MonitoredCall& operator=(const MonitoredCall&) = delete;
};

/// The next `name` after this library's, in the order in which the process searches its libraries,
/// else in NCCL's where only a plug-in has loaded it (as Python does); null if there is none.
void* next_symbol(const char* name);
[[noreturn]] void end_without(const char* name);

/// A function that this library stands in front of. A global.
template <class Function>
class NextFunction {
 public:
  constexpr explicit NextFunction(const char* name) : name_(name) {}
  /// Null if there is none.
  Function* find() {
    Function* function = function_.load(std::memory_order_relaxed);
    if (!function) function_ = function = reinterpret_cast<Function*>(next_symbol(name_));
    return function;
  }
  /// Without it the process ends.
  Function& get() {
    Function* const function = find();
    if (!function) end_without(name_);
    return *function;
  }

 private:
  const char* name_;
  std::atomic<Function*> function_ = nullptr;
};

}  // namespace tenax::comm::monitor
