// Copier: copies messages out of the tensors they are sent from, into pinned buffers.
#pragma once

#include <functional>
#include <memory>

#include "comm/buffers/shared_buffer_pool.hpp"
#include "comm/delegates/outgoing_message.hpp"
#include "comm/failure.hpp"

namespace tenax::comm {

/// One message after the other, in the order they were sent. Thread rule: add() from the sending thread, the others from
/// any.
class Copier {
 public:
  /// Called on a thread of the copier.
  struct Events {
    std::function<void(const OutgoingPtr&)>
        ready_to_send;  ///< it may be sent: it is in its host buffer, or coming into its buffer
    std::function<void(const OutgoingPtr&)> copied;  ///< the send is done
    std::function<void(const Failure&)> failed;
  };
  virtual ~Copier() = default;
  /// Drops what it has not begun, and ends the thread.
  virtual void stop() = 0;

  virtual void add(const OutgoingPtr& message) = 0;
  /// The message was delivered: its buffer is free for the next one.
  virtual void give_back(OutgoingMessage& message) = 0;
  virtual void set_buffers(int buffers) = 0;
};

/// For devices whose copies the calling thread waits for: a thread of its own asks for them. `buffers`: how many messages
/// may be copied out and not yet given back. `device` must outlive the copier.
std::unique_ptr<Copier> create_thread_copier(kernels::Device& device, int buffers, double deadline_s,
                                             Copier::Events events);
/// For asynchronous devices (stream_copier.cpp). Here add() enqueues the copy, so that no other thread ever asks anything
/// of the device, and takes a buffer at once, so that it does not wait either: what a slow link has not carried yet is in
/// pinned memory: at most an iteration's messages, as both ends wait for those before the next one. Where a message has a
/// buffer, that is its buffer, and it leaves with its first piece. `copied_before`: where the count of pieces begins, which
/// goes round at 2^32.
std::unique_ptr<Copier> create_stream_copier(kernels::Device& device, SharedBufferPool& shared_buffers,
                                             Copier::Events events, std::uint32_t copied_before = 0);

}  // namespace tenax::comm
