// Acceptor: the thread that answers whoever connects to this rank's listening sockets.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/transport/incoming_handshake.hpp"
#include "comm/transport/pending_connections.hpp"

namespace tenax::comm {

/// A socket that listens, and the address that peers know it by.
struct ListeningSocket {
  FileDescriptor socket;
  std::string address;
};

/// Runs from construction to destruction. A process that proves to be of this job becomes a pending
/// connection; everybody else is refused. Another user's process on a Unix socket is told nothing.
/// Processes that have not proven themselves hold at most `most_handshakes` descriptors, each for
/// at most 5 s. Beyond that the oldest makes room for the newest: a peer needs but a moment, and
/// comes again.
class Acceptor {
 public:
  struct Rules {
    JobSecret secret;
    Identity me;
    IncomingHandshake::Expects expects;
    std::size_t most_handshakes;
    /// Called on the acceptor's thread. An exception refuses the peer.
    std::function<std::unique_ptr<Connection>(AuthenticatedSocket)> make_connection;
  };
  /// `pending` must outlive it.
  Acceptor(std::vector<ListeningSocket> sockets, Rules rules, PendingConnections& pending);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  const std::vector<ListeningSocket>& sockets() const { return sockets_; }

 private:
  void run();
  int patience_ms() const;
  bool goes_on(IncomingHandshake& handshake, short events);
  void accept_peer(AuthenticatedSocket peer);
  void accept_from(const ListeningSocket& listener);
  bool drop_oldest();

  std::vector<ListeningSocket> sockets_;
  Rules rules_;
  PendingConnections& pending_;
  FileDescriptor stop_;                      // an eventfd: readable = stop
  std::list<IncomingHandshake> handshakes_;  // the longest there first
  std::thread thread_;
};

}  // namespace tenax::comm
