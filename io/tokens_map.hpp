// A file mapped into memory, to read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace tenax::io {

class FileMap {
 public:
  /// Throws Error(rank) if the file is missing, empty, not a regular file or cannot be mapped.
  explicit FileMap(const std::filesystem::path& file);
  ~FileMap();
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace tenax::io
