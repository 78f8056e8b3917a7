// ServiceOutput: what the membership service wants done. Its driver does it in the order of the
// members here: records are stored (and, where asked, synced) before a message tells of them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "resilience/membership/member_messages.hpp"
#include "resilience/membership/records.hpp"
#include "resilience/membership/seats.hpp"
#include "resilience/membership/service_messages.hpp"
#include "resilience/membership/state_vote.hpp"

namespace tenax::resilience {

/// exit: its processes ended; silent: not heard of for too long; connection: its link closed, or
/// others cannot reach it; diverged: its commit contradicts the ledger; given_up: it is not started again; hang: a rank of it is to blame
/// that the run stands still;
/// corrupt: its state or its sums are wrong, or may be.
enum class LossReason { exit, silent, connection, diverged, given_up, hang, corrupt };
constexpr const char* name_of(LossReason reason) {
  constexpr const char* kNames[] = {"exit",     "silent", "connection", "diverged",
                                    "given_up", "hang",   "corrupt"};
  return kNames[static_cast<int>(reason)];
}

// What happened, for events.jsonl.

struct ReplicaLost {
  ReplicaId id;
  std::string host;
  LossReason reason = LossReason::exit;
  double detect_s = 0;  ///< since it was heard of last
  int rank = -1;        ///< the one that was missed first; −1: unknown
};

/// Replicas that were equal differ. Those named are lost next.
struct StateCorrupt {
  CorruptBy by = CorruptBy::squares;
  std::vector<ReplicaId> replicas;  ///< that are wrong; is_tie: nobody can say which of them are
  bool is_tie = false;
  std::int64_t trusted = 0;  ///< the state after so many steps was equal on all
  /// No checkpoint of more steps may be taken for right.
  bool distrusts_checkpoints = false;
  std::int64_t commits = 0;              ///< that count, to which it contributed since
  StateEvidence right = {}, wrong = {};  ///< what most have, and what they do not
};

struct EpochBegan {
  Epoch epoch;
  double reconfigure_s = 0;  ///< since the first message of the change
};

/// An epoch begins in the middle of a step. Samples are those of all its replicas.
struct StepRepeated {
  std::int64_t step = 0;
  std::int64_t kept_samples = 0, missing_samples = 0;  ///< computed already; to be computed now
  /// Since the first replica that was lost was heard of last. The survivors' sums stood still at
  /// most so long; their passes went on.
  double stall_s = 0;
};

struct ReplicaJoined {
  ReplicaId id;
  Joined joined;
  double stall_s = 0;  ///< the members waited for it so long, to let it in and for its state
};

/// The run has a validation loss. Told once by each member that has computed it.
struct StepValidated {
  Validated validated;
};

/// A member could not go on without a service.
struct ServiceAwaited {
  ReplicaId id;
  double seconds = 0;
};

/// A member has found out something of itself.
struct ReplicaObserved {
  ReplicaId id;
  Observed observed;
};

struct StepsVoided {
  std::int64_t void_from = 0;
};

/// A checkpoint is the run's: its writer has left it under a name of its own, the driver gives it its
/// place. A replica that is out of the run cannot put one there, however late it wakes. Where the
/// writer failed, that is told, and the run does not end by itself.
struct CheckpointSaved {
  ReplicaId writer;
  Saved saved;
  bool is_last = false;  ///< of the run
};

/// Training waited for `min_replicas`, until an epoch began or the run was to end.
struct MembersAwaited {
  double seconds = 0;
};

/// So many are left that are not given up, which is fewer than `min_replicas`: the run is to end.
struct TooFewLeft {
  std::vector<int> given_up;  ///< replicas
  int left = 0;
};

/// A warm spare can be called, or (not any more) has vanished.
struct SpareSeen {
  int spare = 0;
  bool is_ready = false;
};

/// A replica has checked in: it lives, wherever it was started, and by whomever.
struct ReplicaSeen {
  ReplicaId id;
  std::string data = {};     ///< as it found it (CheckIn)
  bool holds_state = false;  ///< that of the epoch in force: it tells next which steps it has done
};

using ServiceEvent = std::variant<ReplicaLost, StateCorrupt, EpochBegan, StepRepeated, ReplicaJoined,
                                  StepsVoided, StepValidated, CheckpointSaved, MembersAwaited, ServiceAwaited,
                                  ReplicaObserved, SpareSeen, ReplicaSeen, TooFewLeft>;

struct OutgoingMessage {
  std::vector<PeerId> to;
  ServiceMessage message;
};

struct ServiceOutput {
  std::vector<Record> records;
  bool sync = false;
  std::vector<OutgoingMessage> messages;
  std::vector<PeerId> closed;  ///< links to close after their messages
  std::vector<ServiceEvent> events;
};

}  // namespace tenax::resilience
