// Inbox: brings the messages of one peer to their receives, for links that threads of their own
// read. A message that comes before its receive is posted waits in a buffer of the inbox.
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
/// Where the host can read the device's memory, an expected message is read straight into its
/// tensor. Else it is read into pinned memory and copied to the device, as soon as its receive is
/// posted, on a stream of the inbox. Today that is the emulated device, whose copies only take time,
/// and asynchronous devices, as follows. No other device with real data has memory of its own.
///
/// On an asynchronous device the posting thread alone enqueues those copies, and never blocks:
/// done() does so when the message is here, order_before() before it has come. Copies run in the
/// order in which they were enqueued: an early message may wait for one that a stream waits for. If
/// a message fails to come, because the link fails or its receive is cancelled, the streams that
/// wait for it go on, and done() throws.
class Inbox {
 public:
  /// `device` gives pinned host memory and copies. `signal` is notified when a receive becomes
  /// done. Both must outlive the inbox, as must `shared_buffers`: the link's, on asynchronous
  /// devices. `me`, `peer`: for errors. `emulate_copies`: on a device without data each message
  /// costs a copy (Kernels::copy). `transport`: has the host buffers registered that messages are read into; it must
  /// outlive the inbox (null: none does).
  Inbox(kernels::Device& device, Signal& signal, std::string me, std::string peer,
        bool emulate_copies = false, SharedBufferPool* shared_buffers = nullptr,
        Transport* transport = nullptr);
  /// Nobody delivers any more. Receives that are not done throw.
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Receives of a tag match its messages in order, by MessageHeader::number.
  /// TransferTiming::arrived_s includes a copy to the device. Destroying a transfer that is not
  /// done waits for a reader that is writing its tensor.
  TransferPtr post(const kernels::Tensor& tensor, Tag tag);
  /// On an asynchronous device: the tensor is written once `stream` has passed what is enqueued on
  /// it now.
  TransferPtr post(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag);

  /// A reader thread delivers one message: `read` fills header.payload_bytes bytes of host memory,
  /// in one call or more; after that the message has arrived. Throws Error(link) for a header that
  /// no peer of ours sends (message_check.hpp). A message that was delivered before is read and
  /// dropped. An exception of `read` leaves here; the message may be delivered again, and its
  /// tensor's contents are unspecified meanwhile.
  using Read = std::function<void(std::span<std::byte>)>;
  void deliver(const MessageHeader& header, const Read& read);
  /// The same for a message in a shared buffer (header.shared_buffer): `await` returns when so many
  /// of its bytes are there, or throws.
  using Await = std::function<void(std::size_t)>;
  void deliver_shared(const MessageHeader& header, const Await& await);
  /// Every receive whose message has not arrived, posted now or later, throws `error`. The first
  /// error counts.
  void fail(std::exception_ptr error);
  /// Any thread: bytes of messages that this process has copied from host memory to host memory.
  std::uint64_t copied_bytes() const;

 private:
  friend class InboxReceive;
  friend class AsynchronousReceive;
  friend class MessageDelivery;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tenax::comm
