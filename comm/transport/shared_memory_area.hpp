// SharedMemoryArea: memory that the two processes of a connection may both map, page by page.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/transport/connection_request.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// Maps `bytes` of a file from `offset` on, for reading and writing; null where that cannot be, with
/// errno.
std::shared_ptr<std::byte> map_shared(const FileDescriptor& file, std::size_t offset, std::size_t bytes);

/// A range of addresses whose pages are zeros at first. A page takes memory of the host from
/// reserve() on, until both processes have destroyed area and mappings. Thread rule: any thread.
class SharedMemoryArea {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 30;  ///< addresses cost nothing
  /// The largest page of kernels that tenax runs on (64 KiB on some ARM hosts): what is mapped begins at a multiple of it.
  static constexpr std::size_t kPage = std::size_t{64} << 10;

  /// It begins `begin` bytes into `memory`, a multiple of kPage.
  SharedMemoryArea(FileDescriptor memory, std::size_t begin, ConnectionEnd end);

  ConnectionEnd end() const { return end_; }
  /// Gives their pages memory; false where the host has none left.
  bool reserve(std::size_t offset, std::size_t bytes) const;
  /// What either process has reserved, from the beginning of a page on; null where they cannot be mapped.
  std::shared_ptr<std::byte> map(std::size_t offset, std::size_t bytes) const;

 private:
  FileDescriptor memory_;
  std::size_t begin_;
  ConnectionEnd end_;
};

}  // namespace tenax::comm
