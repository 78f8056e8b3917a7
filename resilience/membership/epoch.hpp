// Epoch: who trains together, from which step on. It holds until the next one: a step without a
// change needs no message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "resilience/membership/parts.hpp"

namespace tenax::resilience {

/// One start of one replica. Incarnations of a replica are numbered in the order of their starts.
struct ReplicaId {
  int replica = -1, incarnation = 0;

  bool operator==(const ReplicaId&) const = default;
};

struct EpochMember {
  ReplicaId id;
  std::string host;
  std::vector<std::string> addresses = {};        ///< where each of its ranks takes connections
  std::vector<std::string> state_addresses = {};  ///< likewise for its state; none: there, too
  /// It lacks the state at the epoch's first step. It takes part with zeros, has no samples, and
  /// fetches the state from the others during the step.
  bool is_behind = false;

  bool operator==(const EpochMember&) const = default;
};

enum class EpochReason { start, lost, join, leave };
inline constexpr EpochReason kEpochReasons[] = {EpochReason::start, EpochReason::lost, EpochReason::join,
                                                EpochReason::leave};
/// As in the ledger.
constexpr const char* name_of(EpochReason reason) {
  constexpr const char* kNames[] = {"start", "lost", "join", "leave"};
  return kNames[static_cast<int>(reason)];
}

struct Epoch {
  std::int64_t number = 0;  ///< from 1, up by one each
  /// Step n turns the state after n steps into the state after n + 1.
  std::int64_t from_step = 0;
  std::int64_t first_sample = 0;          ///< of from_step
  std::vector<EpochMember> members = {};  ///< in ring order
  std::vector<Part> parts = {};           ///< of from_step; those of later steps follow from it
  int writer = -1;                        ///< the replica that writes checkpoints
  EpochReason reason = EpochReason::start;

  bool operator==(const Epoch&) const = default;
  /// Null where `replica` is no member.
  const EpochMember* find(int replica) const {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const EpochMember& member) { return member.id.replica == replica; });
    return found == members.end() ? nullptr : &*found;
  }
};

}  // namespace tenax::resilience
