// MessageClient: one end of a connection to a message server.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/messages/event_poll.hpp"
#include "comm/messages/message_socket.hpp"
#include "comm/transport/connection_request.hpp"
#include "comm/transport/job_secret.hpp"

namespace tenax::comm {

struct MessageClientOptions {
  JobSecret secret;
  std::vector<std::string> addresses;  ///< MessageServer::addresses(), tried in order
  std::string purpose;                 ///< what on_open() gets; at most ConnectionRequest::kMostPurpose bytes
  kernels::Deadline deadline;          ///< for connecting
  double silence_s = 5;                ///< a host that acknowledges nothing for so long is taken for dead
};

/// Once an Error came, the connection is lost: make a new client to come again.
///
/// Thread rule: one thread receives, any thread sends or wakes it.
class MessageClient {
 public:
  /// Connects; both ends prove that they know the secret. Throws Error(link) where it is refused,
  /// nobody listens, or the deadline comes.
  explicit MessageClient(const MessageClientOptions& options);
  MessageClient(const MessageClient&) = delete;
  MessageClient& operator=(const MessageClient&) = delete;

  /// Does not block: what the network does not take at once goes on its way while some thread
  /// receives. Throws Error(link) when the connection is lost, or the server reads nothing.
  void send(std::string_view text);
  /// The next message; nothing when the deadline came first or wake() was called. Throws
  /// Error(link) at once when the server has closed or the connection is lost, after the last
  /// message that came whole.
  std::optional<std::string> receive(kernels::Deadline deadline);
  /// Ends the receive() under way, or else the next one that has to wait.
  void wake() noexcept { poll_.wake(); }
  /// This end and the other, for people.
  const std::string& name() const { return socket_.name(); }

 private:
  void advance();

  MessageSocket socket_;  // mutex_
  EventPoll poll_;
  std::mutex mutex_;
  std::deque<std::string> received_;  // the receiving thread's
};

}  // namespace tenax::comm
