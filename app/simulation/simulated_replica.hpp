// SimulatedReplica: one replica of a simulated run, as its leader and its training thread would be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "resilience/membership/membership_member.hpp"
#include "resilience/membership/seats.hpp"

namespace tenax::app {

struct SimulatedReplica {
  enum class Life {
    absent,  ///< no process
    running,
    silent  ///< it has died, and the service does not know
  };
  enum class Phase { idle, passes, exchange };

  resilience::ReplicaId id;
  Life life = Life::absent;
  Phase phase = Phase::idle;
  std::optional<resilience::MembershipMember> member = {};  ///< while it runs
  std::int64_t passes = 0;                                  ///< so many it has begun
  resilience::MemberPlan step = {};                         ///< that it computes
  double begin_s = 0, end_s = 0;                            ///< of its passes
  double left_s = 0;                                        ///< of passes that a loss has cut short
  double exchange_s = 0;                                    ///< when it came to the exchange
  std::int64_t computed_step = -1;                          ///< of `computed`
  std::vector<resilience::Part> computed = {};
  bool has_contributed = false;  ///< its first step with samples is over
  double saving_s = 0;           ///< checkpoints, in this step
  double speed = 1;              ///< of its passes; less while it is slow

  bool runs() const { return life == Life::running; }
  /// The service's number of its link.
  resilience::PeerId peer(int replicas) const {
    return static_cast<resilience::PeerId>(id.incarnation) * replicas + id.replica;
  }
};

}  // namespace tenax::app
