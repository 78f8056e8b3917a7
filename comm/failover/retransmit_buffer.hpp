// The bytes of messages that may have to be sent again, when the memory they came from is long used
// for others.
#pragma once

#include <memory>
#include <vector>

#include "kernels/device.hpp"

namespace tenax::comm {

struct RetransmitBuffer {
  std::unique_ptr<kernels::Buffer> memory;
  std::unique_ptr<kernels::Event> written;  ///< the tensor they came from is free once it is passed
  kernels::Tensor tensor;                   ///< in `memory`
  explicit operator bool() const { return memory != nullptr; }
};

/// Thread rule: one thread.
class RetransmitPool {
 public:
  /// `device` must outlive the pool and what it gave.
  explicit RetransmitPool(kernels::Device& device) : device_(device) {}
  /// Takes memory for `count` messages now: on a GPU taking it later holds up the work under way.
  void stock(std::size_t bytes, int count);
  /// Copies on `stream`. Nothing where the device has no data.
  RetransmitBuffer keep(kernels::Stream& stream, const kernels::Tensor& tensor);
  /// Nobody reads them any more.
  void give_back(RetransmitBuffer bytes) { spare_.push_back(std::move(bytes)); }

 private:
  RetransmitBuffer make(std::size_t bytes);

  kernels::Device& device_;
  std::vector<RetransmitBuffer> spare_;
};

}  // namespace tenax::comm
