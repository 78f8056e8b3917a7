// TokenBytes: the bytes of a file of tokens or text, read by position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "io/posix_file.hpp"

namespace tenax::io {

/// Throws kernels::Error(rank): "token file NAME: what".
[[noreturn]] void refuse_tokens(const std::filesystem::path& file, const std::string& what);

/// Not a memory map: a file that is cut short meanwhile is an error and not a SIGBUS, and only
/// files in use are open. Errors are kernels::Error(rank) and begin "token file NAME: ".
class TokenBytes {
 public:
  /// Throws if the file is missing, empty or not regular.
  explicit TokenBytes(const std::filesystem::path& file);

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// Fills `out` from `offset` on; throws beyond the end. Several threads may read at once, but not
  /// beside the first read after close().
  void read(std::span<std::byte> out, std::int64_t offset) const;
  /// Gives the descriptor back. The next read opens the file again, and throws if its size has
  /// changed.
  void close() { file_.reset(); }

 private:
  PosixFile open() const;

  std::filesystem::path path_;
  mutable std::optional<PosixFile> file_;
  std::int64_t size_;
};

}  // namespace tenax::io
