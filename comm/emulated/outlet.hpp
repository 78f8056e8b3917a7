// Outlet: where the messages of emulated direct links wait for their turn on the wire.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "comm/connection.hpp"

namespace tenax::comm {

class DirectLink;

/// A message on its way to the wire of `link`.
struct Outgoing {
  MessageHeader header;
  std::span<const std::byte> payload;
  std::unique_ptr<kernels::Event> ready;  ///< done when what is sent exists
  double asked_s = 0;                     ///< when the sender asked for it
  double turn_s = 0;                      ///< no transmission before: the wire is taken until then

  /// When what is sent existed; when it was asked for, where that was much later: then the host was
  /// held up.
  double due_s() const;
  std::shared_ptr<std::atomic<bool>> sent;  ///< set when the memory is free
  DirectLink* link = nullptr;
};

/// Times are logical, as the emulated device's are: when a thread wakes late, the message is put on
/// the wire late, but counts as sent, and as arrived, when it should have been
/// (MessageHeader::late_s).
///
/// Thread rule: enter() from one thread, the rank's. Transmission happens in threads of the
/// outlet's own. The destructor waits until all messages have been transmitted, or dropped because
/// their link has failed.
class Outlet {
 public:
  virtual ~Outlet() = default;
  /// Returns when the message has its place. Where that took time, `stream` is told
  /// (Stream::input_arrived) until when the calling thread was held up. Throws Error(link).
  virtual void enter(Outgoing message, kernels::Stream& stream) = 0;
};

}  // namespace tenax::comm
