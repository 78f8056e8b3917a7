// HostStaging: pinned host buffers through which messages pass between a device and the network, kept for reuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/device.hpp"

namespace tenax::comm {

/// Thread rule: any thread takes and gives back; a slot is used by one thread at a time.
class HostStaging {
 public:
  /// `device` must outlive the staging and its slots.
  explicit HostStaging(kernels::Device& device) : device_(device) {}

  /// A buffer, and a stream on which copies overlap with whatever else the device does.
  struct Slot {
    std::unique_ptr<kernels::Buffer> buffer;
    std::unique_ptr<kernels::Stream>
        stream;  ///< null on an asynchronous device: Landing and StreamCopier have one each
    std::unique_ptr<kernels::Event> copied;  ///< passed when the last copy in or out has run
    std::uint64_t place = 0;                 ///< not of a staging: the place's code (meeting_places.hpp)
    explicit operator bool() const { return buffer != nullptr; }
    std::span<std::byte> memory(std::size_t bytes) const {
      return {static_cast<std::byte*>(buffer->data()), bytes};
    }
  };
  /// Room for `bytes` of a message: the smallest free buffer that is large enough, else a new one. On a device without
  /// data any size fits into one page.
  Slot take(std::size_t bytes);
  void give_back(Slot slot);
  /// At least `count` free slots of that room, so that as many calls of take() need nothing of the device.
  void stock(std::size_t bytes, int count);

  // Not for asynchronous devices:
  /// Starts the copy of `source` (device memory) into the slot once `ready` is passed.
  void copy_out(Slot& slot, const kernels::Tensor& source, const kernels::Event& ready,
                kernels::Deadline deadline);
  /// Starts the copy of the slot's message to `destination`; both were there at `arrived_s` (steady clock).
  void copy_in(Slot& slot, const kernels::Tensor& destination, double arrived_s);
  /// Waits for the slot's copy; returns when it ended (steady clock).
  double finish(Slot& slot, kernels::Deadline deadline) const;

 private:
  std::size_t room_for(std::size_t bytes) const;
  Slot make(std::size_t room);
  kernels::Tensor view(const Slot& slot, const kernels::Tensor& like) const;

  kernels::Device& device_;
  std::mutex mutex_;
  std::vector<Slot> free_;
};

/// What MessageHeader and TransferTiming count in.
using kernels::steady_now_s;

}  // namespace tenax::comm
