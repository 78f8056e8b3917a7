// HostStaging: pinned host buffers through which messages pass between a device and the network,
// kept for reuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "comm/connection.hpp"
#include "kernels/device.hpp"

namespace tenax::comm {

/// Takes the smallest of the `free` ones that holds `bytes` out of them; nothing where none does.
/// `size_of`: how many bytes one of them holds.
template <class Item, class SizeOf>
std::optional<Item> take_best_fit(std::vector<Item>& free, std::size_t bytes, SizeOf size_of) {
  auto best = free.end();
  for (auto it = free.begin(); it != free.end(); ++it)
    if (size_of(*it) >= bytes && (best == free.end() || size_of(*it) < size_of(*best))) best = it;
  if (best == free.end()) return std::nullopt;
  std::optional<Item> taken(std::move(*best));
  free.erase(best);
  return taken;
}

/// Pinned host memory, and a stream on which its copies overlap with the device's other work. Or memory of the
/// device, from which alone connections send that can read it (DeviceStaging).
struct HostBuffer {
  std::unique_ptr<kernels::Buffer> buffer;
  std::unique_ptr<MemoryRegistration> registration;  ///< of the buffer; null where there is none
  std::unique_ptr<kernels::Stream> stream;  ///< null on an asynchronous device, and in a shared buffer
  std::unique_ptr<kernels::Event> copied;   ///< passed when the last copy in or out has run
  std::uint64_t shared_id = 0;              ///< SharedBufferId::code; 0 = not shared
  bool is_on_device = false;
  explicit operator bool() const { return buffer != nullptr; }
  std::span<std::byte> memory(std::size_t bytes) const {
    return {static_cast<std::byte*>(buffer->data()), bytes};
  }
};

/// Thread rule: any thread; a host buffer is used by one thread at a time.
class HostStaging {
 public:
  /// `device` must outlive the staging and its host buffers; so must `transport`, which is going to
  /// send from them or receive into them (null: none is).
  explicit HostStaging(kernels::Device& device, Transport* transport = nullptr)
      : device_(device), transport_(transport) {}

  /// The smallest free buffer that holds `bytes`, else a new one. On a device without data any size
  /// fits into one page.
  HostBuffer take(std::size_t bytes);
  void give_back(HostBuffer host_buffer);
  /// Makes sure of `count` free buffers of that size: as many calls of take() need nothing of the
  /// device.
  void stock(std::size_t bytes, int count);

  // Not for asynchronous devices:
  /// Starts the copy of `source` (device memory) into the host buffer once `ready` is passed. Not for
  /// the CPU.
  void copy_out(HostBuffer& host_buffer, const kernels::Tensor& source, const kernels::Event& ready);
  /// Starts the copy of the host buffer's message to `destination`; both were there at `arrived_s`
  /// (steady clock). Runs use it on the emulated device, and on the CPU for messages that came
  /// before their receive was posted.
  void copy_in(HostBuffer& host_buffer, const kernels::Tensor& destination, double arrived_s);
  /// Waits for the host buffer's copy; returns when it ended (steady clock).
  double finish(HostBuffer& host_buffer, kernels::Deadline deadline) const;

 private:
  std::size_t room_for(std::size_t bytes) const;
  HostBuffer make(std::size_t room);
  kernels::Tensor view(const HostBuffer& host_buffer, const kernels::Tensor& like) const;

  kernels::Device& device_;
  Transport* const transport_;
  std::mutex mutex_;
  std::vector<HostBuffer> free_;
};

/// The clock of MessageHeader and TransferTiming.
using kernels::steady_now_s;

}  // namespace tenax::comm
