// CopyIn: the last leg of messages to an asynchronous device, from pinned memory into their tensors.
//
// Who does what keeps it from deadlock. The thread that posts receives enqueues everything, on one stream; threads that
// read the network only write pinned memory and the flag: a driver may make a caller wait while another's stream is stuck.
// The stream is made to wait for a message only right before an op that needs it is launched. Whatever that message
// depends on was enqueued before, at this rank and at others, so that neither full launch queues, nor streams that share a
// hardware queue, nor allocations that wait for the device can hold up what the wait is for. Order between streams is by
// events, which the device's scheduler knows of; flags are set by the host alone.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "comm/host_staging.hpp"

namespace tenax::comm {

/// Thread rule: as each function says.
class CopyIn {
 public:
  /// `device` must outlive it. `first_ticket`: any; they go round at 2^32.
  explicit CopyIn(kernels::Device& device, std::uint32_t first_ticket = 1);
  /// cancel(), and waits until the stream is empty.
  ~CopyIn();
  CopyIn(const CopyIn&) = delete;
  CopyIn& operator=(const CopyIn&) = delete;

  /// Tickets of a message that has not come: it arrives in so many pieces, each of which is waited for. None: it is here.
  struct Tickets {
    std::uint32_t first = 0, count = 0;
  };
  /// Posting thread. Tickets are drawn in the order in which they are waited for.
  Tickets draw_tickets(std::uint32_t count);
  /// Posting thread: copies from `host_buffer` to `tensor` once `writable` is passed, each piece at its ticket; host_buffer.copied is passed
  /// when that is done.
  void copy(HostBuffer& host_buffer, const kernels::Tensor& tensor, const kernels::Event& writable,
            Tickets tickets);
  /// Any thread: the piece of `ticket` is in its host buffer.
  void mark_arrived(std::uint32_t ticket);
  /// Any thread: nothing is waited for any more, whether or not it has come.
  void cancel();

 private:
  kernels::Device& device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<kernels::Flag> arrived_;  // all tickets up to its value have
  std::uint32_t tickets_;                   // the last one drawn; the posting thread's
  std::mutex mutex_;
  std::uint32_t arrived_to_;
  std::set<std::uint32_t> arrived_beyond_;
};

}  // namespace tenax::comm
