// BufferMapper: the memory of the buffers of both ends of a link, mapped by this process and registered with its device.
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

/// What the table that both ends see says of a shared buffer is read once, and believed where it lies in its owner's half.
class BufferMapper {
 public:
  /// `area`: both ends' buffers, from `begin` on, half each. `device` and `directory` must outlive the store.
  BufferMapper(kernels::Device& device, std::shared_ptr<SharedMemoryArea> area, std::size_t begin,
               BufferDirectory& directory);
  BufferMapper(const BufferMapper&) = delete;
  BufferMapper& operator=(const BufferMapper&) = delete;

  /// Posting thread, for it may ask the device. A buffer of this end that nobody uses: the smallest that is large enough,
  /// else a new one; none where host or device have no room for it.
  std::optional<SharedBufferId> take(std::size_t bytes);
  /// Any thread.
  void give_back(SharedBufferId buffer);
  /// Posting thread: its memory, for the device's copies; null where the device does not reach it.
  std::shared_ptr<std::byte> register_for_device(SharedBufferId buffer);
  /// Any thread: the same for the host; null where it cannot be mapped, or where what its owner says of it cannot be.
  std::shared_ptr<std::byte> map(SharedBufferId buffer);
  /// Any thread, of a shared buffer that is mapped: its bytes, whatever is said of it since.
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
