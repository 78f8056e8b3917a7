// Two ranks of one process with connections through the injector, for tests.
#pragma once

#include <gtest/gtest.h>

#include <thread>

#include "comm/emulated/direct_endpoint.hpp"
#include "tests/comm/emulated/emulated_network.hpp"
#include "tests/resilience/faults/injected_ranks.hpp"

namespace tenax::resilience::connections {

using comm::Connection;
using comm::MessageHeader;

inline constexpr const char* kAddress = "tcp:10.0.0.5:4000";
inline constexpr const char* kOther = "tcp:10.0.0.6:4000";
inline const std::string kDirect = std::string(comm::kDirectPurpose) + "pipeline";

inline LinkFault down(const std::string& path) {
  LinkFault fault = slow(0);
  fault.down_path = path;
  return fault;
}

/// Two ranks of one process.
struct Ranks {
  explicit Ranks(const std::vector<LinkFault>& faults)
      : injectors{FaultInjector(faults), FaultInjector(faults)} {
    for (int rank = 0; rank < 2; ++rank)
      transports[rank] = injectors[rank].wrap(network.create_transport(rank), rank);
  }
  void begin_step(std::int64_t step) {
    for (FaultInjector& injector : injectors) injector.begin_step(step);
  }
  std::unique_ptr<Connection> connect(const std::string& address, const std::string& purpose) {
    return transports[0]->connect(peer(1), address, purpose, soon());
  }
  std::unique_ptr<Connection> accept(const std::string& purpose, double patience_s = 30) {
    return transports[1]->accept(peer(0), purpose, Deadline::after_s(patience_s));
  }
  static Deadline soon() { return Deadline::after_s(30); }
  static comm::Peer peer(int rank) { return {rank, "rank " + std::to_string(rank), {kAddress, kOther}}; }

  comm::LocalNetwork network{2};
  FaultInjector injectors[2];
  std::unique_ptr<comm::Transport> transports[2];
};

inline MessageHeader numbered(std::uint64_t number, std::uint64_t bytes = 8) {
  MessageHeader header;
  header.number = number;
  header.bytes = bytes;
  return header;
}

inline bool says_down(const std::string& message) {
  return message.find("the path is down") != std::string::npos;
}

}  // namespace tenax::resilience::connections
