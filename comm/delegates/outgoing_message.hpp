// OutgoingMessage: a tensor on its way out, shared by the send's transfer, the copier and a delegate.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>

#include "comm/connection.hpp"
#include "comm/host_staging.hpp"

namespace tenax::comm {

/// Thread rule: the functions from any thread; the fields as each says.
class OutgoingMessage {
 public:
  /// Before and after the tensor is read. False: its owner wants it back, so it must not be touched.
  bool begin_reading();
  void end_reading();
  /// The tensor may change from now on: the send is done.
  void release();
  bool is_released() const;
  /// The peer has it: whatever becomes of the link, it is released as soon as nobody reads it.
  void mark_arrived();
  bool has_arrived() const;
  /// For a send that nobody will wait for: returns once nobody reads the tensor, now or later.
  void cancel();

  // Set before any other thread sees the message.
  MessageHeader header;
  kernels::Tensor tensor;
  std::unique_ptr<kernels::Event> ready;   ///< passed when the tensor's contents are there
  std::unique_ptr<kernels::Event> copied;  ///< asynchronous devices: passed when they were copied out
  double queued_s = 0;

  // Of whoever has the message at the time: sender, copier, then its channel (under the channel's mutex).
  HostBuffer host_buffer;              ///< where the message was copied to, if it was
  std::span<const std::byte> payload;  ///< of the host buffer or the tensor
  double ready_s = 0;                  ///< emulated time: when it could be sent; 0 = time is real
  double started_s = 0;                ///< of the last transmission; 0 = none yet
  bool is_sending = false, is_acknowledged = false;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_read_ = false, is_released_ = false, has_arrived_ = false, is_cancelled_ = false;
};
using OutgoingPtr = std::shared_ptr<OutgoingMessage>;

}  // namespace tenax::comm
