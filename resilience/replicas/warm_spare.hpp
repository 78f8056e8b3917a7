// WarmSpare: a warm spare's link to the membership service, on its rank 0.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/messages/message_client.hpp"
#include "kernels/deadline.hpp"
#include "resilience/membership/epoch.hpp"
#include "resilience/replicas/leader_heartbeat.hpp"

namespace tenax::resilience {

/// It has started all that a replica has, and waits for the place of one. Whoever supervises the run starts new spares, so
/// this one ends with its service. One thread.
class WarmSpare {
 public:
  struct Options {
    int spare = 0;
    comm::JobSecret secret;
    std::vector<std::string> service;  ///< its addresses
    comm::MessageConnector connect;    ///< to it
    double heartbeat_s = 0.1, dead_s = 1;
  };
  /// From now on it can be called. `heartbeat` must outlive it. Throws kernels::Error(link) without a service.
  WarmSpare(Options options, LeaderHeartbeat& heartbeat);

  /// The replica whose place it takes, once it is called. Throws kernels::Error: where the service has gone, or does not
  /// want it any more; where a rank of the spare is silent.
  std::optional<ReplicaId> wait(kernels::Deadline deadline);

 private:
  void beat();
  std::optional<ReplicaId> receive();

  Options options_;
  LeaderHeartbeat& heartbeat_;
  std::unique_ptr<comm::MessageLink> link_;
  double beats_at_s_ = 0;  // steady clock
};

}  // namespace tenax::resilience
