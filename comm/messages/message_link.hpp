// MessageLink: one end of a connection over which texts travel.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/deadline.hpp"

namespace tenax::comm {

/// Once an Error came, the connection is lost: make a new link to come again.
///
/// Thread rule: one thread receives, any thread sends or wakes it.
class MessageLink {
 public:
  MessageLink() = default;
  virtual ~MessageLink() = default;
  MessageLink(const MessageLink&) = delete;
  MessageLink& operator=(const MessageLink&) = delete;

  /// Does not block. Throws Error(link) when the connection is lost, or the other end reads nothing.
  virtual void send(std::string_view text) = 0;
  /// The next message; nothing when the deadline came first or wake() was called. Throws
  /// Error(link) at once when the other end has closed or the connection is lost, after the last
  /// message that came whole.
  virtual std::optional<std::string> receive(kernels::Deadline deadline) = 0;
  /// Ends the receive() under way, or else the next one that has to wait.
  virtual void wake() noexcept = 0;
};

}  // namespace tenax::comm
