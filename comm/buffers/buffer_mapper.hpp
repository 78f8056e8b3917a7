// BufferMapper: maps both ends' shared buffers into this process and registers them with its
// device.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/buffers/buffer_directory.hpp"
#include "comm/transport/shared_memory_area.hpp"
#include "kernels/device.hpp"

namespace tenax::comm {

/// A buffer's row of the directory is read once, and believed if it lies within its owner's half.
class BufferMapper {
 public:
  /// `area` holds both ends' buffers from `begin` on, half each. `device` and `directory` must
  /// outlive it.
  BufferMapper(kernels::Device& device, std::shared_ptr<SharedMemoryArea> area, std::size_t begin,
               BufferDirectory& directory);
  BufferMapper(const BufferMapper&) = delete;
  BufferMapper& operator=(const BufferMapper&) = delete;

  /// Posting thread, as it may call the device. The smallest unused buffer of this end that is
  /// large enough, else a new one; none where host or device have no room for it.
  std::optional<SharedBufferId> take(std::size_t bytes);
  /// Any thread.
  void give_back(SharedBufferId buffer);
  /// Posting thread: its memory, for the device's copies; null where the device cannot use it.
  std::shared_ptr<std::byte> register_for_device(SharedBufferId buffer);
  /// Any thread: its memory, for the host; null where it cannot be mapped, or its row is
  /// impossible.
  std::shared_ptr<std::byte> map(SharedBufferId buffer);
  /// Any thread, of a mapped buffer: its bytes, whatever its row says since.
  std::size_t bytes(SharedBufferId buffer);

 private:
  /// Registrations end before what they register.
  struct Mapped {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
    std::unique_ptr<kernels::HostRegistration> registration;
  };
  std::optional<SharedBufferId> make(std::size_t bytes);

  kernels::Device& device_;
  const std::shared_ptr<SharedMemoryArea> area_;
  BufferDirectory& directory_;
  const std::size_t begin_, half_;        // where the buffers of end 0 begin; bytes of one end's
  std::size_t next_offset_, end_offset_;  // the posting thread's, as the next two
  std::vector<std::size_t> made_;         // bytes of this end's buffers
  bool is_full_ = false;                  // a refusal is final: asking costs time
  std::mutex mutex_;                      // never held while the device is asked
  std::vector<std::size_t> free_;
  std::map<std::uint64_t, Mapped> mapped_;  // by code
};

}  // namespace tenax::comm
