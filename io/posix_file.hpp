// Files by POSIX calls. They do what streams cannot: write at a position, synchronise, and reserve
// space. Errors are kernels::Error(rank) and name file and reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "kernels/error.hpp"

namespace tenax::io {

/// The folder that `target` is in: "." where it names none.
std::filesystem::path folder_of(const std::filesystem::path& target);
/// Throws Error(rank), naming both, unless the folder of `target` exists.
void check_folder_of(const std::filesystem::path& target);
/// Opens a regular file to read and returns the descriptor. Otherwise returns -1 and sets `failure`
/// ("No such file or directory", "it is a pipe, a socket or a device, not a file"). Never waits for
/// a pipe or a device.
int open_regular_file(const std::filesystem::path& path, std::error_code& failure);

/// "it is a pipe, a socket or a device, not a file".
std::error_code not_a_file();

/// The reason why a file could not be opened or written, with a remedy if there is one: "Too many
/// open files (allow more: …)".
std::string reason(const std::error_code& failure);

/// The disk is full, or the user's quota is.
class NoSpaceError : public kernels::Error {
 public:
  using kernels::Error::Error;
};

/// Throws "cannot VERB PATH: reason": a NoSpaceError for a full disk, a kernels::UnfitFileError where there is no such file,
/// or something else has its name; otherwise kernels::Error(rank).
[[noreturn]] void throw_file_error(const char* verb, const std::filesystem::path& path,
                                   const std::error_code& failure);
/// `code` is an errno.
[[noreturn]] inline void throw_file_error(const char* verb, const std::filesystem::path& path, int code) {
  throw_file_error(verb, path, std::error_code(code, std::generic_category()));
}

/// An open file. Used by one thread at a time.
class PosixFile {
 public:
  static PosixFile open_to_read(const std::filesystem::path& path);  ///< a regular file
  /// A file or a pipe; waits for a pipe's writer.
  static PosixFile open_stream(const std::filesystem::path& path);
  /// To write, not to read. The file exists and is no link.
  static PosixFile open_to_write(const std::filesystem::path& path);
  /// To append(): what exists, a pipe or a device too. Waits for a pipe's reader.
  static PosixFile open_to_append(const std::filesystem::path& path);
  /// To write, not to read. Replaces what has the name, even a link.
  static PosixFile create(const std::filesystem::path& path);
  /// As create(). Messages name `target`, its later name, or the folder that `target` lacks.
  static PosixFile create_for(const std::filesystem::path& path, const std::filesystem::path& target);
  /// Takes over an open descriptor; `path` is for messages.
  static PosixFile adopt(int descriptor, const std::filesystem::path& path);
  ~PosixFile();
  PosixFile(PosixFile&& other) noexcept;
  PosixFile& operator=(PosixFile&&) = delete;

  std::int64_t size() const;
  /// Read or write all of `bytes` at `offset`. To read beyond the end is a
  /// kernels::UnfitFileError.
  void read(std::span<std::byte> bytes, std::int64_t offset) const;
  void write(std::span<const std::byte> bytes, std::int64_t offset) const;
  /// Writes all of `bytes` where the file stands: a pipe has no other place.
  void append(std::span<const std::byte> bytes) const;
  /// Makes the file `bytes` long and reserves its space where the file system can, so that a full
  /// disk shows now.
  void reserve(std::int64_t bytes) const;
  void sync() const;  ///< fsync
  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return path_; }
  /// Its path still leads to it.
  bool has_its_name() const;
  /// By which libraries open the same file anew, also where nothing has its path any more.
  std::filesystem::path name_while_open() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  PosixFile(const std::filesystem::path& path, int descriptor) : path_(path), descriptor_(descriptor) {}
  static PosixFile open(const std::filesystem::path& path, int flags, const char* verb);
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace tenax::io
