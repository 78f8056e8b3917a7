// DirectoryLock: one process at a time writes to a directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "io/posix_file.hpp"
#include "io/run/lock_beat.hpp"
#include "io/run/lock_owner.hpp"

namespace tenax::io {

/// An exclusive lock on a directory, held by a file in it while this object lives. Used by one
/// thread. The file goes with the lock. A killed process leaves it behind, which hinders nobody on
/// the same host; on another one LockWatch finds out that nobody touches it any more.
class DirectoryLock {
 public:
  static constexpr const char* kFileName = kLockFile;

  /// What the directory is to who reads an error, and so which key of the deck names it.
  enum class Use { run, checkpoints };
  /// Makes the directory if there is none. Throws kernels::Error(rank) that names the process which
  /// holds the lock.
  explicit DirectoryLock(std::filesystem::path directory, Use use = Use::run);
  /// Also removes the directories that it made and that are still empty.
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  /// False once the directory or the lock's file has been removed or moved.
  bool in_place() const;
  /// Makes the directory again and locks it, unless the lock is in place. Throws as the
  /// constructor.
  void renew();

  /// A lock's file, as it is now.
  struct Look {
    LockState state = LockState::unknown;
    std::optional<LockOwner> owner = {};  ///< nothing: its writer has not got so far
    std::uint64_t file = 0;               ///< its number in the file system
    std::int64_t changed_ns = 0;          ///< UNIX time, as its file system told

    /// Nobody has touched it in between.
    bool is_as(const Look& other) const { return file == other.file && changed_ns == other.changed_ns; }
  };
  /// Nothing where `directory` has no lock. Changes nothing.
  static std::optional<Look> look_at(const std::filesystem::path& directory);
  /// Throws as the constructor if another process holds the directory. Changes nothing.
  static void check_free(const std::filesystem::path& directory);
  /// Removes the file of a lock that nobody is seen to hold: whoever calls this knows that its owner is gone, or out of the run,
  /// and the next one may be on any host. `as_seen`: only if it is as it was then.
  static void discard(const std::filesystem::path& directory, const Look* as_seen = nullptr);

 private:
  static std::optional<Look> look(const PosixFile& opened, LockState state);
  std::filesystem::path file() const { return directory_ / kFileName; }
  /// Nothing, or that what it was made in has gone meanwhile.
  std::error_code make_directory();
  void take();
  void fail_of_link(const std::vector<std::filesystem::path>& absent) const;
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail(const std::string& what, int code) const;
  bool try_to_take();

  std::filesystem::path directory_;
  Use use_;
  std::optional<PosixFile> lock_;
  std::optional<LockBeat> beat_;             // of the open file: ends before it
  std::vector<std::filesystem::path> made_;  ///< directories, the outermost first
};

}  // namespace tenax::io
