// Files by POSIX calls, for what streams cannot do: positioned and synchronous writes, reservation of space,
// and files that appear complete or not at all. Errors are kernels::Error(rank) and name file and reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "kernels/error.hpp"

namespace tenax::io {

/// Throws Error(rank), naming both, unless there is a folder for `target`.
void check_folder_of(const std::filesystem::path& target);
/// Opens a file to read: not a directory, pipe or device, for which it does not wait either. Returns the descriptor; or -1,
/// and in `failure` why ("No such file or directory", "it is a pipe, a socket or a device, not a file").
int open_regular_file(const std::filesystem::path& path, std::error_code& failure);

/// Why a file could not be opened or written and, where something helps, what: "Too many open files (allow more: …)".
std::string reason(const std::error_code& failure);

/// The disk is full, or the user may have no more of it.
class NoSpaceError : public kernels::Error {
 public:
  using kernels::Error::Error;
};

/// An open file. Used by one thread at a time.
class PosixFile {
 public:
  static PosixFile open_to_read(const std::filesystem::path& path);  ///< a regular file
  /// A file or a pipe; waits for a pipe's writer.
  static PosixFile open_stream(const std::filesystem::path& path);
  static PosixFile open_to_write(const std::filesystem::path& path);  ///< exists already, and is no link
  static PosixFile create(const std::filesystem::path& path);  ///< replaces what has the name, be it a link
  /// As create(), under the name `path` for now; messages name `target`, which it is going to be, or the folder that
  /// `target` lacks.
  static PosixFile create_for(const std::filesystem::path& path, const std::filesystem::path& target);
  /// Takes over an open descriptor; `path` is for messages.
  static PosixFile adopt(int descriptor, const std::filesystem::path& path);
  ~PosixFile();
  PosixFile(PosixFile&& other) noexcept;
  PosixFile& operator=(PosixFile&&) = delete;

  std::int64_t size() const;
  /// All of `bytes`, at `offset`. A file that ends earlier is an error.
  void read(std::span<std::byte> bytes, std::int64_t offset) const;
  void write(std::span<const std::byte> bytes, std::int64_t offset) const;
  /// Makes the file `bytes` long, its space reserved where the file system can: a full disk shows now.
  void reserve(std::int64_t bytes) const;
  void sync() const;  ///< fsync
  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  PosixFile(const std::filesystem::path& path, int descriptor) : path_(path), descriptor_(descriptor) {}
  static PosixFile open(const std::filesystem::path& path, int flags, const char* verb);
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Renames `temporary` to `target` in the same directory, replacing it, and makes that durable.
void publish(const std::filesystem::path& temporary, const std::filesystem::path& target);

/// A name whose file, if there is one, is removed at the end: after a rename there is none.
class TemporaryPath {
 public:
  explicit TemporaryPath(std::filesystem::path path) : path_(std::move(path)) {}
  /// temporary_name(target), after the removal of what killed processes of this host left under such names.
  static TemporaryPath beside(const std::filesystem::path& target);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A file under construction beside `target`: publish() makes it appear, the destructor removes what was not.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);

  const PosixFile& file() const { return file_; }
  const std::filesystem::path& target() const { return target_; }
  void publish();  ///< fsync, then rename

 private:
  std::filesystem::path target_;
  TemporaryPath temporary_;
  PosixFile file_;
};

/// "`.NAME.tmp-HOST-PID`" beside `target`: where a file is written before it is renamed.
std::filesystem::path temporary_name(const std::filesystem::path& target);

}  // namespace tenax::io
