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

/// Thread rule: one rank's thread posts; any number of reader threads deliver.
class Inbox {
 public:
  /// `device` gives the buffers of early messages (pinned host memory) and copies them to where they belong; `signal`
  /// is notified when a receive becomes done. Both must outlive the inbox. `me`, `peer`: for errors.
  Inbox(kernels::Device& device, Signal& signal, std::string me, std::string peer);
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Receives of a tag are matched with its messages in order, by MessageHeader::number.
  TransferPtr post(const kernels::Tensor& tensor, Tag tag);

  /// What a reader thread does with one message: `read` fills header.payload_bytes bytes of host memory (not called for
  /// an empty payload), then the message is arrived. A number that was delivered before is read and dropped.
  using Read = std::function<void(std::span<std::byte>)>;
  void deliver(const MessageHeader& header, const Read& read);
  /// Every receive that is not done, and every later one, throws `error`.
  void fail(std::exception_ptr error);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tenax::comm
