// Acceptor: the thread that answers whoever connects to this rank's listening sockets.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "comm/transport/incoming_handshakes.hpp"
#include "comm/transport/pending_connections.hpp"

namespace tenax::comm {

/// Runs from construction to destruction. A process that proves to be of this job is taken; everybody
/// else is refused.
class Acceptor {
 public:
  /// `take` is called on the acceptor's thread with each peer that has proven itself.
  Acceptor(std::vector<ListeningSocket> sockets, IncomingHandshakes::Rules rules,
           IncomingHandshakes::Taker take);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  const std::vector<ListeningSocket>& sockets() const { return sockets_; }

 private:
  void run();
  void accept_from(const ListeningSocket& listener);

  std::vector<ListeningSocket> sockets_;
  IncomingHandshakes::Taker take_;
  FileDescriptor stop_;  // an eventfd: readable = stop
  IncomingHandshakes handshakes_;
  std::thread thread_;
};

/// An exception refuses the peer.
using ConnectionMaker = std::function<std::unique_ptr<Connection>(AuthenticatedSocket)>;

/// Makes a pending connection of a peer, and tells it so. One that finds no room sees its connection
/// closed, and comes again.
void admit(AuthenticatedSocket peer, const ConnectionMaker& make_connection, PendingConnections& pending);

}  // namespace tenax::comm
