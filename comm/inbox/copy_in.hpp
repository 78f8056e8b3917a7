// CopyIn: copies messages for an asynchronous device from pinned memory into their tensors.
//
// A division of labour keeps it from deadlock. The posting thread alone enqueues, on one stream.
// Threads that read the network write only pinned memory and the flag: a driver may make one caller
// wait while another's stream is stuck. The stream waits for a message only right before an op that
// needs it. All that the message depends on was enqueued earlier, at this rank and at others:
// neither full launch queues, nor streams that share a hardware queue, nor allocations that wait
// for the device can hold it up. Streams are ordered by events, which the device's scheduler knows;
// the host alone sets flags.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "comm/host_staging.hpp"

namespace tenax::comm {

/// A device that takes longer to end its copies is broken.
inline constexpr double kCopyDeadline_s = 60;

/// Thread rule: as each function says.
class CopyIn {
 public:
  /// `device` must outlive it. `first_ticket`: any; tickets wrap at 2^32.
  explicit CopyIn(kernels::Device& device, std::uint32_t first_ticket = 1);
  /// cancel(), and waits until the stream is empty.
  ~CopyIn();
  CopyIn(const CopyIn&) = delete;
  CopyIn& operator=(const CopyIn&) = delete;

  /// The stream waits for one ticket per piece of a message. count 0: the message has come, and the
  /// stream need not wait.
  struct Tickets {
    std::uint32_t first = 0, count = 0;
  };
  /// Posting thread, in the order of the waits.
  Tickets draw_tickets(std::uint32_t count);
  /// Posting thread: copies from `host_buffer` to `tensor` once `writable` is passed, each piece
  /// when its ticket is marked. host_buffer.copied is passed after that.
  void copy(HostBuffer& host_buffer, const kernels::Tensor& tensor, const kernels::Event& writable,
            Tickets tickets);
  /// Any thread: the piece of `ticket` is in its host buffer.
  void mark_arrived(std::uint32_t ticket);
  /// Any thread: the stream waits for no message any more.
  void cancel();

 private:
  kernels::Device& device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<kernels::Flag> arrived_;  // its value: all tickets up to it have arrived
  std::uint32_t tickets_;                   // the last one drawn; the posting thread's
  std::mutex mutex_;
  std::uint32_t arrived_to_;
  std::set<std::uint32_t> arrived_beyond_;
};

}  // namespace tenax::comm
