// Doorkeeper: the thread that answers whoever connects to this rank's listening sockets.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/transport/arrival.hpp"
#include "comm/transport/lobby.hpp"

namespace tenax::comm {

/// A socket that listens, and the address that peers know it by.
struct ListeningSocket {
  FileDescriptor socket;
  std::string address;
};

/// Runs from construction to destruction. Processes of this job wait in the lobby, once they have proven that they are;
/// everybody else is refused. Another user's process on a Unix socket is told nothing. Who has not proven itself costs at most
/// `most_arrivals` descriptors: beyond them the longest there makes room for the newest, as a peer needs but a moment and
/// comes again; and nobody stays longer than 5 s.
class Doorkeeper {
 public:
  struct Rules {
    JobSecret secret;
    Identity me;
    Arrival::Brings brings;
    std::size_t most_arrivals;
    /// Called on the doorkeeper's thread. What it throws refuses the visitor.
    std::function<std::unique_ptr<Connection>(Visitor)> make_connection;
  };
  /// `lobby` must outlive it.
  Doorkeeper(std::vector<ListeningSocket> sockets, Rules rules, Lobby& lobby);
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;
  const std::vector<ListeningSocket>& sockets() const { return sockets_; }

 private:
  void run();
  int patience_ms() const;
  bool stays(Arrival& arrival, short events);
  void welcome(Visitor visitor);
  void answer(const ListeningSocket& door);
  bool drop_oldest();

  std::vector<ListeningSocket> sockets_;
  Rules rules_;
  Lobby& lobby_;
  FileDescriptor stop_;          // an eventfd: readable = stop
  std::list<Arrival> arrivals_;  // the longest there first
  std::thread thread_;
};

}  // namespace tenax::comm
