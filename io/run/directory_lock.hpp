// DirectoryLock: one process at a time writes to a directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/posix_file.hpp"

namespace tenax::io {

/// A process, as a lock names it.
struct LockOwner {
  std::string host;
  std::int64_t pid = 0;
  std::int64_t pid_start =
      0;  ///< when the process began, in clock ticks since the host's: tells processes of one number apart
  std::string job;           ///< the batch job's number; empty outside of one
  std::int64_t restart = 0;  ///< how often that job has been put back into the queue
  double time_s = 0;         ///< UNIX time of the locking
  bool operator==(const LockOwner&) const = default;

  static LockOwner this_process();
};

/// What the system says of a lock on a file.
enum class LockState {
  free,
  held,
  unknown  ///< this file system has no locks
};

/// Why `me` may not write to `directory`, where `owner` has left its name, as a sentence; empty if it may. An owner of this
/// host that is dead counts for nothing; of another host's nothing can be known, unless it is an earlier start of this
/// very job, which Slurm ends before it begins the next.
std::string lock_obstacle(const std::filesystem::path& directory, LockState state,
                          const std::optional<LockOwner>& owner, const LockOwner& me);

/// An exclusive lock on a directory, as long as this lives, by a file in it. Used by one thread. The file goes with the
/// lock; that of a killed process stays, and hinders nobody on its host.
class DirectoryLock {
 public:
  static constexpr const char* kFileName = ".lock";

  /// Makes the directory where there is none. Throws kernels::Error(rank) that names the process which holds it.
  explicit DirectoryLock(std::filesystem::path directory);
  /// Directories that it made and that nobody has written to go too.
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  /// False once the directory, or the file in it, has been removed or moved away.
  bool in_place() const;
  /// Where it is no longer in place: makes the directory again and locks it. Throws as the constructor.
  void renew();

  /// Throws as the constructor would if another process holds the directory; changes nothing.
  static void check_free(const std::filesystem::path& directory);

 private:
  std::filesystem::path file() const { return directory_ / kFileName; }
  void make_directory();
  void take();
  bool try_to_take();

  std::filesystem::path directory_;
  std::optional<PosixFile> lock_;
  std::vector<std::filesystem::path> made_;  ///< directories, the outermost first
};

}  // namespace tenax::io
