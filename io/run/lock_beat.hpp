// LockBeat: shows processes of other hosts that the owner of a lock's file lives.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tenax::io {

/// Sets the modification time of an open file to now, every so many seconds, on a thread of its own. Whether a file system
/// takes it is not looked at: LockWatch needs to see none but that of a living owner.
class LockBeat {
 public:
  /// `descriptor` must outlive it.
  LockBeat(int descriptor, double seconds);

 private:
  void run(const std::stop_token& stop, int descriptor, double seconds);

  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // the last member: it ends before the others do
};

}  // namespace tenax::io
