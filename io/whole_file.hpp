// Files that are read whole, and files that appear complete or not at all. Errors are
// kernels::Error(rank) that name file and reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "io/posix_file.hpp"

namespace tenax::io {

/// Reads a regular file of at most `most_bytes` into `text`. On failure returns the reason, and
/// `text` is empty. Directories, pipes and devices are failures: the latter may never end.
std::error_code read_text_file(const std::filesystem::path& file, std::string& text,
                               std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max());
/// Writes `text` beside `file`, makes it durable and renames it: readers see the old text or the
/// new one.
void write_file_atomically(const std::filesystem::path& file, std::string_view text);

/// Renames `temporary` to `target` in the same directory, replacing it, and makes that durable.
void publish(const std::filesystem::path& temporary, const std::filesystem::path& target);
/// The same for many, in this order, and each directory made durable once: no time in which some have their names
/// that a kill would be likely to come in.
void publish(
    const std::vector<std::pair<std::filesystem::path, std::filesystem::path>>& targets_of_temporaries);

/// ".NAME.tmp-HOST-PID" beside `target`: the name of a file until it is complete.
std::filesystem::path temporary_name(const std::filesystem::path& target);
/// The reverse, of any host: "NAME", also where the temporary file has one of its own; empty for another name.
std::string target_of_temporary(const std::string& name);
/// Removes from `folder` what killed processes of this host left under temporary names of targets that `is_one` picks.
void remove_leftovers(const std::filesystem::path& folder,
                      const std::function<bool(const std::string& target)>& is_one);

/// A name whose file the destructor removes. After a rename there is none.
class TemporaryPath {
 public:
  explicit TemporaryPath(std::filesystem::path path) : path_(std::move(path)) {}
  /// Has temporary_name(target). First removes what killed processes of this host left under such
  /// names.
  static TemporaryPath beside(const std::filesystem::path& target);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A file under construction beside `target`. publish() makes it appear; the destructor removes it
/// otherwise.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target) : AtomicFile(target, target) {}
  /// Of a `target` that gets the name `later` from the caller: messages name that.
  AtomicFile(const std::filesystem::path& target, const std::filesystem::path& later);

  const PosixFile& file() const { return file_; }
  const std::filesystem::path& target() const { return target_; }
  /// fsync; returns the temporary name and the target, as publish() of many files takes them.
  std::pair<std::filesystem::path, std::filesystem::path> sync() const;
  void publish();  ///< sync(), then rename

 private:
  std::filesystem::path target_;
  TemporaryPath temporary_;
  PosixFile file_;
};

}  // namespace tenax::io
