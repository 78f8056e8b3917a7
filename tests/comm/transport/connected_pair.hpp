// ConnectedPair: two ranks of one process and a connection between them, for tests and measurements.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "comm/connection.hpp"

namespace tenax::comm {

/// Two ranks' transports, and the connection that rank 0 makes to rank 1.
struct ConnectedPair {
  ConnectedPair(std::unique_ptr<Transport> zero, std::unique_ptr<Transport> one)
      : transports{std::move(zero), std::move(one)},
        peers{Peer{0, "rank 0 (here)", transports[0]->addresses()},
              Peer{1, "rank 1 (here)", transports[1]->addresses()}} {}

  void connect(std::size_t address = 0, const std::string& purpose = "test") {
    const auto deadline = kernels::Deadline::after_s(20);
    ends[0] = transports[0]->connect(peers[1], peers[1].addresses.at(address), purpose, deadline);
    ends[1] = transports[1]->accept(peers[0], purpose, deadline);
  }

  std::unique_ptr<Transport> transports[2];
  Peer peers[2];
  std::unique_ptr<Connection> ends[2];
};

}  // namespace tenax::comm
