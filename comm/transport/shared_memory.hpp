// SharedMemory: host memory that other processes of this host may map.
#pragma once

#include <fcntl.h>

#include <memory>
#include <string>

#include "comm/transport/socket.hpp"
#include "kernels/device.hpp"

namespace tenax::comm {

/// Of memory that processes share: neither shorter nor longer once it is made.
inline constexpr int kSharedMemorySeals = F_SEAL_SHRINK | F_SEAL_GROW;

/// An open file without a name: it is gone with the last process that has it, however that ends.
/// Thread rule: any thread.
class SharedMemory final : public kernels::Buffer {
 public:
  /// Zeros, writable. All pages are there at once. Throws Error(rank) where the host has no room.
  static std::shared_ptr<SharedMemory> create(std::size_t bytes);
  /// What another process has created: to be read alone, and to be used only as a view of what that
  /// process writes. `where`: for errors. Throws Error(link) where it cannot be mapped, or where its
  /// pages could be taken away.
  static std::shared_ptr<const SharedMemory> map(FileDescriptor descriptor, const std::string& where);
  ~SharedMemory() override;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void* data() const override { return data_; }
  std::size_t bytes() const override { return bytes_; }
  /// To be sent to another process.
  int descriptor() const { return descriptor_.get(); }

 private:
  SharedMemory(FileDescriptor descriptor, void* data, std::size_t bytes)
      : descriptor_(std::move(descriptor)), data_(data), bytes_(bytes) {}

  FileDescriptor descriptor_;
  void* data_;
  std::size_t bytes_;
};

}  // namespace tenax::comm
