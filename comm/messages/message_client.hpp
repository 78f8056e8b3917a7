// MessageClient: one end of a connection to a message server.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/messages/event_poll.hpp"
#include "comm/messages/message_link.hpp"
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
  /// A server that stands still, and reads nothing, is not taken for dead: set_patient_tcp_options().
  bool is_patient = false;
};

/// A link over TCP.
class MessageClient final : public MessageLink {
 public:
  /// Connects; both ends prove that they know the secret. Throws Error(link) where it is refused,
  /// nobody listens, or the deadline comes.
  explicit MessageClient(const MessageClientOptions& options);

  /// What the network does not take at once goes on its way while some thread receives.
  void send(std::string_view text) override;
  std::optional<std::string> receive(kernels::Deadline deadline) override;
  void wake() noexcept override { poll_.wake(); }
  /// This end and the other, for people.
  const std::string& name() const { return socket_.name(); }

 private:
  void advance();

  MessageSocket socket_;  // mutex_
  EventPoll poll_;
  std::mutex mutex_;
  std::deque<std::string> received_;  // the receiving thread's
};

/// How a link is made: as by MessageClient's constructor.
using MessageConnector = std::function<std::unique_ptr<MessageLink>(const MessageClientOptions&)>;

}  // namespace tenax::comm
