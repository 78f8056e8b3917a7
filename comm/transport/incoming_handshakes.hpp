// IncomingHandshakes: the callers of listening sockets that have not proven themselves yet.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "comm/transport/incoming_handshake.hpp"

namespace tenax::comm {

/// A socket that listens, and the address that peers know it by.
struct ListeningSocket {
  FileDescriptor socket;  ///< non-blocking
  std::string address;
};

/// Processes that have not proven themselves hold at most `most` descriptors, each for at most 5 s.
/// Beyond that the oldest makes room for the newest: a peer needs but a moment, and comes again.
/// Another user's process on a Unix socket is closed at once and told nothing.
///
/// Thread rule: one thread at a time. Nothing blocks.
class IncomingHandshakes {
 public:
  struct Rules {
    JobSecret secret;
    Identity me;
    IncomingHandshake::Expects expects;
    std::size_t most;
  };
  /// Called with a caller that is proven; an exception refuses it.
  using Taker = std::function<void(AuthenticatedSocket)>;
  struct Accepted {
    int socket = -1;  ///< of the new caller; -1 where none was taken in
    /// This process has no descriptor for the caller, who stays in the listener's queue.
    bool lacks_descriptors = false;
  };

  explicit IncomingHandshakes(Rules rules) : rules_(std::move(rules)) {}

  Accepted accept_from(const ListeningSocket& listener);
  /// Reads what has come on one of sockets(), and answers it.
  void advance(int socket, const Taker& take);
  /// Closes those whose time is over.
  void drop_expired();

  std::vector<int> sockets() const;
  bool has(int socket) const;
  /// When the first one's time is over; with none, in the far future.
  kernels::Deadline deadline() const;

 private:
  bool goes_on(IncomingHandshake& handshake, const Taker& take) const;
  bool drop_oldest();

  Rules rules_;
  std::list<IncomingHandshake> handshakes_;  // the longest there first
};

}  // namespace tenax::comm
