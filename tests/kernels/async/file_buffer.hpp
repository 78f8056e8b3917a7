// FileBuffer: memory with a descriptor by which others map it too, as a device's dmabuf has.
#pragma once

#include "kernels/device.hpp"

namespace tenax::kernels::test {

/// Of zeros.
class FileBuffer final : public Buffer {
 public:
  explicit FileBuffer(std::size_t bytes);
  ~FileBuffer() override;
  FileBuffer(const FileBuffer&) = delete;
  FileBuffer& operator=(const FileBuffer&) = delete;
  void* data() const override { return data_; }
  std::size_t bytes() const override { return bytes_; }
  /// Another descriptor, the caller's.
  int export_memory() const;

 private:
  std::size_t bytes_;
  int descriptor_;
  void* data_;
};

}  // namespace tenax::kernels::test
