// The inside of Inbox, shared with the transfers it gave.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "comm/inbox/copy_in.hpp"
#include "comm/inbox/inbox.hpp"
#include "comm/inbox/message_buffers.hpp"
#include "comm/inbox/message_matching.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {

/// Brings messages that are here to their receives. MessageDelivery brings them here.
struct Inbox::State {
  using Phase = PostedReceive::Phase;

  State(kernels::Device& its_device, Signal& its_signal, std::string its_me, std::string its_peer,
        bool emulate_copies, SharedBufferPool* shared_buffers, Transport* transport);

  PostedReceivePtr post(kernels::Stream* stream, const kernels::Tensor& tensor, Tag tag);
  void fail(const Failure& reason);
  /// Nobody waits for the receive any more. Returns when nobody writes its tensor; not for
  /// asynchronous devices.
  void cancel(PostedReceive& receive);
  void close();

  // With the lock held:
  /// Brings a message that is here to its receive, which nobody else has. Unlocks while it copies.
  void hand_over(std::unique_lock<std::mutex>& lock, PostedReceive& receive, ArrivedMessage message);
  /// The receive's memory holds the message.
  void end(PostedReceive& receive, const ArrivedMessage& message, double arrived_s);
  /// The next piece of the message is in the receive's host buffer.
  void receive_piece(PostedReceive& receive);
  void fail_cancelled(PostedReceive& receive);

  Signal& signal;
  const std::string me, peer;
  kernels::Device& device;
  std::unique_ptr<CopyIn> copy_in;  ///< on an asynchronous device, until close()
  const bool copies;                ///< elsewhere: messages reach tensors by a copy to the device
  MessageBuffers buffers;
  std::mutex mutex;  ///< guards all below, and every PostedReceive
  std::condition_variable changed;
  MessageMatching matching;
  std::optional<Failure> failure;

 private:
  PostedReceivePtr prepare(kernels::Stream* stream, const kernels::Tensor& tensor, Tag tag);
  void copy(PostedReceive& receive, ArrivedMessage message);
  void move_to_host_buffer(PostedReceive& receive, ArrivedMessage message);

  std::unique_ptr<Worker> copier_;  // copies messages whose receive was posted later
};

}  // namespace tenax::comm
