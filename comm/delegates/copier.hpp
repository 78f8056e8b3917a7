// Copier: copies messages out of the tensors they are sent from, into pinned buffers.
#pragma once

#include <functional>
#include <memory>

#include "comm/buffers/shared_buffer_pool.hpp"
#include "comm/delegates/outgoing_message.hpp"
#include "comm/failure.hpp"

namespace tenax::comm {

/// Copies one message after the other, in the order of add(). Thread rule: add() from the sending
/// thread, the others from any.
class Copier {
 public:
  /// Called on a thread of the copier.
  struct Events {
    std::function<void(const OutgoingPtr&)>
        ready_to_send;  ///< it is in its host buffer, or on its way into its shared buffer
    std::function<void(const OutgoingPtr&)> copied;  ///< the send is done
    std::function<void(const Failure&)> failed;
  };
  virtual ~Copier() = default;
  /// Drops the messages that it has not begun, and ends its thread.
  virtual void stop() = 0;

  virtual void add(const OutgoingPtr& message) = 0;
  /// The message was delivered: its buffer is free for the next one.
  virtual void give_back(OutgoingMessage& message) = 0;
  /// The connection cannot read the message's device memory: from now on its payload is in host memory. The
  /// channel's thread, which waits for the copy. Throws Error(rank) where the device does not end it.
  virtual void bring_to_host(OutgoingMessage& message) { static_cast<void>(message); }
  virtual void set_buffers(int buffers) = 0;
};

/// For devices whose copies the calling thread waits for: a thread of the copier's asks for them.
/// That is the emulated device alone, whose copies only take time. At most `buffers` messages are
/// copied out and not yet given back. `device` must outlive the copier, and `transport`, which sends
/// from the buffers (null: none does).
std::unique_ptr<Copier> create_thread_copier(kernels::Device& device, Transport* transport, int buffers,
                                             double deadline_s, Copier::Events events);
/// For asynchronous devices. add() itself enqueues the copy: no other thread asks anything of the
/// device. It takes a host buffer at once, so it never waits: all messages that a slow link has not
/// carried yet are in pinned memory, at most those of one iteration. A message with a shared buffer
/// is copied there, and may be sent with its first piece. Where `is_read` says of some of the device's own
/// memory that all connections can send from it, a message is copied there instead. `copied_before`: where
/// the count of pieces begins, which wraps at 2^32.
std::unique_ptr<Copier> create_stream_copier(kernels::Device& device, Transport* transport,
                                             SharedBufferPool& shared_buffers, Copier::Events events,
                                             std::function<bool(std::span<const std::byte>)> is_read,
                                             std::uint32_t copied_before = 0);

}  // namespace tenax::comm
