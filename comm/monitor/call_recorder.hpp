// CallRecorder: the calls of a process to MPI and NCCL, recorded for $TENAX_MONITOR_DIR/rank-N.csv.
//
// This folder is a library of its own, which LD_PRELOAD puts into programs that are not ours. It
// uses nothing of libstdc++, whose version would have to be theirs, and never throws.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "comm/monitor/call_log_file.hpp"

namespace tenax::comm::monitor {

/// Records are written when there are many, when the first of them is a second old and the next
/// call comes, and when MPI or the process ends. What a killed process had not written is lost.
/// A forked child has a log of its own, if it has a rank of its own. Any thread.
class CallRecorder {
 public:
  constexpr CallRecorder() = default;
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  /// Without TENAX_MONITOR_DIR it stays off.
  void start();
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  /// A call that begins now. `call` lives as long as the process.
  void add(const char* call, std::int64_t bytes, std::int64_t ranks);
  /// Writes what there is.
  void flush();

  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  static constexpr std::size_t kRecords = 4096;

  void write();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> is_on_ = false;
  CallLogFile file_;
  std::size_t count_ = 0;
  CallRecord records_[kRecords] = {};
};

/// The process's own.
CallRecorder& call_recorder();

}  // namespace tenax::comm::monitor
