// TokenBytes: the bytes of a file of tokens or text, read by position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "io/posix_file.hpp"

namespace tenax::io {

/// Not a memory map: a file cut short while it is read is an error and not a SIGBUS, and of sets of many files only those
/// being read are open. Errors are kernels::Error(rank) and begin "token file NAME: ".
class TokenBytes {
 public:
  /// Opens the file. Throws if it is missing, empty or not a regular file.
  explicit TokenBytes(const std::filesystem::path& file);

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// Fills `out` from `offset` on; reaching beyond the end throws. Several threads may read at once, but not beside the first
  /// read after close().
  void read(std::span<std::byte> out, std::int64_t offset) const;
  /// Gives the descriptor back; the next read opens the file again, and throws if it has another size by then.
  void close() { file_.reset(); }

 private:
  PosixFile open() const;

  std::filesystem::path path_;
  mutable std::optional<PosixFile> file_;
  std::int64_t size_;
};

}  // namespace tenax::io
