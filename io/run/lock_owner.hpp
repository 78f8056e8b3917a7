// LockOwner: the process that holds a directory's lock. lock_obstacle(): whether another process
// may take it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tenax::io {

/// The file in a locked directory that names the owner.
inline constexpr const char* kLockFile = ".lock";

/// Between two changes of the file's modification time.
inline constexpr double kLockBeat_s = 5;

/// A process, as the file of a lock names it.
struct LockOwner {
  std::string host;
  std::int64_t pid = 0;
  std::int64_t pid_start = 0;  ///< clock ticks since the host's start: tells processes of one pid apart
  std::string job;             ///< the batch job's number; empty outside of one
  std::int64_t restart = 0;    ///< times that the job went back into the queue
  double time_s = 0;           ///< UNIX time of the locking
  bool beats = false;          ///< it touches the file every kLockBeat_s seconds
  bool operator==(const LockOwner&) const = default;

  static LockOwner this_process();
};

/// The state of a file's lock, as the system knows it.
enum class LockState {
  free,
  held,
  unknown  ///< this file system has no locks
};

/// The reason, as a sentence, why `me` may not write to `directory`; empty if it may. `owner` is
/// named by the file there. A dead owner on this host is no obstacle. An owner on another host is
/// one, as nobody can see at a glance whether it lives (LockWatch looks longer), unless it is an
/// earlier start of the same job: Slurm ends one start before the next.
std::string lock_obstacle(const std::filesystem::path& directory, LockState state,
                          const std::optional<LockOwner>& owner, const LockOwner& me);

/// For a sentence: "process 4711 on n1 (job 77), since 2026-11-18 11:06:40 UTC".
std::string description(const LockOwner& owner);

}  // namespace tenax::io
