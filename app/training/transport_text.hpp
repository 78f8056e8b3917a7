// What a run's connections go over beside MPI, for people and for the event of its start.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/transport/transports.hpp"
#include "comm/verbs.hpp"
#include "io/json.hpp"

namespace tenax::app {

/// One rank's part.
struct RankPorts {
  int rank = 0;
  std::string host;
  std::vector<std::string> usable = {};  ///< "mlx5_0:1"
  std::vector<std::string> links = {};   ///< of them, the first one's first: "RoCE v2", "InfiniBand"
  int mtu_bytes = 0;                     ///< the least of theirs
  std::string obstacle = {};             ///< why there is none: "mlx5_0:1 is DOWN"

  /// `ports`: of those that the deck wants; null without libibverbs. `local_rank`: this rank's number on its host, where
  /// verbs.devices names what there is.
  static RankPorts of(int rank, const std::string& host, const std::vector<comm::VerbsPort>* ports,
                      std::optional<int> local_rank = {});
  /// For other ranks.
  std::string text() const;
  static RankPorts parse(const std::string& text);
  std::string name() const;  ///< "rank 3 (hostB)"
};

/// All ranks', which say the same of it.
class TransportText {
 public:
  TransportText(comm::TransportKind kind, std::vector<RankPorts> ranks);
  /// "comm     verbs over mlx5_0:1 (RoCE v2, MTU 4096); shared memory within hosts"
  std::string line() const;
  /// kind, ports, reason.
  io::JsonObject json() const;

 private:
  bool is_one_host() const;
  std::string ports_text() const;
  struct PairsWithout {
    int count = 0;
    const RankPorts *one = nullptr, *other = nullptr;  // the first pair
    std::string text() const;
  };
  PairsWithout pairs_without() const;
  std::string pairs_text() const;

  comm::TransportKind kind_;
  std::vector<RankPorts> ranks_;
  std::vector<std::string> ports_;  // of all ranks
  // The first rank that has no usable port, and why; else the first two that have none for each other. Empty where all have.
  std::string missing_;
};

}  // namespace tenax::app
