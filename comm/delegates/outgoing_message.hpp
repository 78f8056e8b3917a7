// OutgoingMessage: a message of a delegated send, shared by its transfer, the copier and a
// delegate.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>

#include "comm/connection.hpp"
#include "comm/host_staging.hpp"

namespace tenax::comm {

/// Thread rule: any thread calls the functions; the fields say theirs.
class OutgoingMessage {
 public:
  /// Before and after reading the tensor. False: its send is cancelled, and it must not be read.
  bool begin_reading();
  void end_reading();
  /// The tensor may change from now on: the send is done.
  void release();
  bool is_released() const;
  /// The peer has it: even if the link fails now, its send will be done.
  void mark_arrived();
  bool has_arrived() const;
  /// Its send will not be waited for. On return nobody reads the tensor, now or later.
  void cancel();

  // Set before any other thread sees the message.
  MessageHeader header;
  kernels::Tensor tensor;
  std::unique_ptr<kernels::Event> ready;   ///< passed when the tensor's contents are there
  std::unique_ptr<kernels::Event> copied;  ///< asynchronous devices: passed when they were copied out

  // Owned in turn by the sender, the copier, and the channel (under its mutex).
  HostBuffer host_buffer;              ///< the copy, if there is one
  std::span<const std::byte> payload;  ///< in the host buffer or the tensor
  double ready_s = 0;                  ///< emulated time: when it could be sent; 0 = time is real
  double started_s = 0;                ///< when the last transmission started; 0 = none yet
  bool is_sending = false, is_acknowledged = false;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_read_ = false, is_released_ = false, has_arrived_ = false, is_cancelled_ = false;
};
using OutgoingPtr = std::shared_ptr<OutgoingMessage>;

}  // namespace tenax::comm
