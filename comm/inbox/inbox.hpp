// Inbox: where the messages of one peer meet their receives, for links that threads of their own read: a message may
// come before its receive is posted (then it waits in a buffer of the inbox) or after.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "comm/connection.hpp"
#include "comm/signal.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {

class SharedBufferPool;

/// Thread rule: one rank's thread posts; any number of reader threads deliver.
///
/// Where the host can read the device's memory, a message that is expected is read straight into its tensor. Else it is
/// read into pinned memory and copied to the device as soon as its receive is posted, on a stream of the inbox.
///
/// On an asynchronous device the posting thread alone enqueues those copies: when it looks (done()) and the message is
/// here, or, with order_before, before it has come; it is never blocked. Copies run in the order in which they were enqueued:
/// a message that comes early may wait for one that a stream waits for. If a message fails to come, because the link has
/// failed or the receive is given up, the streams that wait for it go on all the same, and done() throws.
class Inbox {
 public:
  /// `device` gives the buffers of early messages (pinned host memory) and copies them to where they belong; `signal`
  /// is notified when a receive becomes done. Both must outlive the inbox. `me`, `peer`: for errors. `emulate_copies`:
  /// on a device without data, whether messages come through host memory, so that each costs a copy (Kernels::copy).
  /// `shared_buffers`: of the link, on asynchronous devices; they outlive the inbox.
  Inbox(kernels::Device& device, Signal& signal, std::string me, std::string peer,
        bool emulate_copies = false, SharedBufferPool* shared_buffers = nullptr);
  /// Nobody delivers any more. Receives that are not done throw.
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Receives of a tag are matched with its messages in order, by MessageHeader::number. TransferTiming::arrived_s is
  /// when the message was where the receive wants it, a copy to the device included. A transfer that is destroyed
  /// before it is done first lets go of its tensor: it waits for a reader that is writing there.
  TransferPtr post(const kernels::Tensor& tensor, Tag tag);
  /// On an asynchronous device: the tensor is written once `stream` has passed what is enqueued on it now.
  TransferPtr post(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag);

  /// What a reader thread does with one message: `read` fills header.payload_bytes bytes of host memory, in one call or
  /// more, then the message is arrived. A header that no peer says (message_check.hpp), of a shared buffer that is not the message's,
  /// say, throws Error(link) first. A number that was delivered before is read and dropped. What
  /// `read` throws leaves here, and the message may be delivered again. The tensor's contents are unspecified meanwhile.
  using Read = std::function<void(std::span<std::byte>)>;
  void deliver(const MessageHeader& header, const Read& read);
  /// The same of a message in a shared buffer (header.buffer): `await` returns when so many of its bytes are there, or throws.
  using Await = std::function<void(std::size_t)>;
  void deliver_shared(const MessageHeader& header, const Await& await);
  /// Every receive whose message has not arrived, now or when it is posted, throws `error`. The first error counts.
  void fail(std::exception_ptr error);
  /// Any thread: of messages, what this process has copied from host memory to host memory.
  std::uint64_t copied_bytes() const;

 private:
  friend class InboxReceive;
  friend class AsynchronousReceive;
  friend class MessageDelivery;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tenax::comm
