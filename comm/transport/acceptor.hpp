// Acceptor: the thread that answers whoever connects to this rank's listening sockets.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "comm/transport/incoming_handshakes.hpp"
#include "comm/transport/pending_connections.hpp"

namespace tenax::comm {

/// Runs from construction to destruction. A process that proves to be of this job becomes a pending
/// connection; everybody else is refused.
class Acceptor {
 public:
  /// Called on the acceptor's thread. An exception refuses the peer.
  using ConnectionMaker = std::function<std::unique_ptr<Connection>(AuthenticatedSocket)>;

  /// `pending` must outlive it.
  Acceptor(std::vector<ListeningSocket> sockets, IncomingHandshakes::Rules rules,
           ConnectionMaker make_connection, PendingConnections& pending);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  const std::vector<ListeningSocket>& sockets() const { return sockets_; }

 private:
  void run();
  void accept_peer(AuthenticatedSocket peer);
  void accept_from(const ListeningSocket& listener);

  std::vector<ListeningSocket> sockets_;
  ConnectionMaker make_connection_;
  PendingConnections& pending_;
  FileDescriptor stop_;  // an eventfd: readable = stop
  IncomingHandshakes handshakes_;
  std::thread thread_;
};

}  // namespace tenax::comm
