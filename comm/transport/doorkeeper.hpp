// Doorkeeper: the thread that answers whoever connects to this rank's listening sockets.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/transport/greeting.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// A socket that listens, and the address that peers know it by.
struct ListeningSocket {
  FileDescriptor socket;
  std::string address;
};

/// Somebody who said a proper greeting.
struct Visitor {
  FileDescriptor socket;    ///< non-blocking
  FileDescriptor attached;  ///< the descriptor that came along, if any (Unix sockets)
  Greeting greeting;
  std::string address;  ///< it was accepted on
};

/// Runs from construction to destruction. `welcome` (called on the doorkeeper's thread) takes the visitor in; it answers
/// kWelcome itself. What it throws refuses the visitor. Strangers, and whoever says nothing for 5 s, are refused.
class Doorkeeper {
 public:
  using Welcome = std::function<void(Visitor)>;
  Doorkeeper(std::vector<ListeningSocket> sockets, Identity me, Welcome welcome);
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;
  const std::vector<ListeningSocket>& sockets() const { return sockets_; }

 private:
  struct Arrival {
    Visitor visitor;
    std::size_t greeting_bytes = 0;
    kernels::Deadline deadline;
  };
  enum class Progress { unfinished, refused, greeted };

  void run();
  void answer(const ListeningSocket& door);
  Progress listen_to(Arrival& arrival) const;
  void attend(Arrival& arrival, short events, bool& leaves);

  std::vector<ListeningSocket> sockets_;
  Identity me_;
  Welcome welcome_;
  FileDescriptor stop_;  // an eventfd: readable = stop
  std::vector<Arrival> arrivals_;
  std::thread thread_;
};

}  // namespace tenax::comm
