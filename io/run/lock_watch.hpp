// LockWatch: whether the owners of a run's locks still live, on hosts that this one cannot look into.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/run/directory_lock.hpp"

namespace tenax::io {

/// A host that dies leaves its locks behind, on file systems that others see. A living owner touches its lock's file every
/// kLockBeat_s: one that is as it was for several of these is dead, or its host is, and its lock is removed. Clocks of
/// hosts are not compared. An owner that stood still for so long and goes on finds its lock gone
/// (DirectoryLock::in_place()). Where the file system stood still, the time begins anew. A server may hold the lock of a host
/// that is gone for its lease: then it is waited for longer.
///
/// Locks that lock_obstacle() can judge are left to it, also those whose owner does not beat. Used by one thread.
class LockWatch {
 public:
  static constexpr double kPatience_s = 6 * kLockBeat_s;
  /// For a lock that is held: so many times as long.
  static constexpr double kHeld = 4;

  /// Begins to watch the locks of those of `directories` that have one.
  explicit LockWatch(const std::vector<std::filesystem::path>& directories, double patience_s = kPatience_s);

  bool is_over() const { return watched_.empty(); }
  /// What is watched and for how long, as a sentence; it is not over.
  std::string text() const;
  /// Looks again, to be called every second. Throws kernels::Error(rank) that names an owner which lives. Removes the locks that
  /// stood still all the time; those that are held nevertheless are left to RunLock in the end.
  void look();

 private:
  struct Watched {
    std::filesystem::path directory;
    DirectoryLock::Look lock;
  };

  double patience_s_;
  std::vector<Watched> watched_;
  double looked_s_, still_since_s_;  // steady clock
};

}  // namespace tenax::io
