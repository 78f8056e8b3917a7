// ReplicaLink: how the ranks of a replica hold together, and reach the supervisor's service.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/build.hpp"
#include "app/training/run_machine.hpp"
#include "app/training/run_rank.hpp"
#include "resilience/replicas/leader_heartbeat.hpp"
#include "resilience/replicas/rank_heartbeat.hpp"
#include "resilience/replicas/replica_leader.hpp"

namespace tenax::app {

/// Collective, as its end and all calls but the getters.
class ReplicaLink {
 public:
  /// Its ranks hear each other's heartbeats from now on. `machine` has a transport. Both must outlive it.
  ReplicaLink(RunRank& rank, RunMachine& machine);

  /// In a warm spare: waits for the place of a replica. Throws where nobody will call any more.
  resilience::ReplicaId wait_for_place();
  /// The service takes the replica for ready: everything that takes time has been done before. `data`: the checksum of
  /// what it trains on; empty: of nothing.
  void check_in(const Build& build, const std::string& data);
  /// Null on all ranks but the first.
  resilience::ReplicaLeader* leader() { return leader_ ? &*leader_ : nullptr; }
  const resilience::FrozenEpoch& frozen() const { return frozen_; }

 private:
  resilience::MembershipMember::Options member_options(const Build& build, const std::string& data) const;

  RunRank& rank_;
  RunMachine& machine_;
  resilience::FrozenEpoch frozen_;
  std::optional<resilience::LeaderHeartbeat>
      heard_ranks_;  // the first rank's, and of the first one of each other host
  std::optional<resilience::RankHeartbeat> heartbeat_;  // of all but the first
  std::optional<resilience::ReplicaLeader> leader_;     // the first rank's
};

/// How samples are shared out over replicas.
resilience::SampleRules sample_rules(const io::Deck& deck);

}  // namespace tenax::app
