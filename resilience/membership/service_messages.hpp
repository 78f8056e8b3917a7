// Messages from the membership service to the leader of a replica.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "resilience/membership/epoch.hpp"

namespace tenax::resilience {

/// It does not take part: another build or deck, an old incarnation. The link closes.
struct Refused {
  static constexpr const char* kKind = "refused";

  std::string reason;
};

/// Abort the exchanges of `epoch` and of those before, and report.
struct Freeze {
  static constexpr const char* kKind = "freeze";

  std::int64_t change = 0, epoch = 0;
};

/// Report when `step` is the next, and wait there. A newer one takes the place of an older one.
struct Hold {
  static constexpr const char* kKind = "hold";

  std::int64_t change = 0, epoch = 0, step = 0;
};

/// The reason of a Hold has gone: go on.
struct Resume {
  static constexpr const char* kKind = "resume";

  std::int64_t change = 0;
};

struct NewEpoch {
  static constexpr const char* kKind = "new_epoch";

  Epoch epoch;
};

/// The answer to a Beat, and what follows a sync of the records: commits of steps before `done` can
/// be forgotten.
struct CommitAck {
  static constexpr const char* kKind = "commit_ack";

  std::int64_t done = 0;
  bool stops =
      false;  ///< somebody has asked for the end of the run: nothing that can be left out is to delay it
};

/// The run has recorded its validation after `done` steps: it and those before can be forgotten.
struct ValidationAck {
  static constexpr const char* kKind = "validation_ack";

  std::int64_t done = 0;
};

/// The run has recorded that the replica joined in this epoch: it can forget so.
struct JoinAck {
  static constexpr const char* kKind = "join_ack";

  std::int64_t epoch = 0;
};

/// The run has recorded what the replica has observed up to this number: it can forget that.
struct ObservationAck {
  static constexpr const char* kKind = "observation_ack";

  std::int64_t number = 0;
};

/// Nobody holds a state: load the newest checkpoint.
struct Restore {
  static constexpr const char* kKind = "restore";
};

/// The run ends after `done` steps, once `writer` has saved their checkpoint.
struct StopAt {
  static constexpr const char* kKind = "stop_at";

  std::int64_t done = 0;
  int writer = -1;
};

/// The run is over: exit with status 0.
struct Ended {
  static constexpr const char* kKind = "ended";
};

/// The replica is out of the run: exit. The link closes.
struct Evicted {
  static constexpr const char* kKind = "evicted";

  std::string reason;
};

/// A warm spare is this replica from now on. Its place is in the replica's join file; as the replica it checks
/// in on a link of its own.
struct TakePlace {
  static constexpr const char* kKind = "take_place";

  ReplicaId id;
};

using ServiceMessage = std::variant<Refused, Freeze, Hold, Resume, NewEpoch, CommitAck, ValidationAck,
                                    JoinAck, ObservationAck, Restore, StopAt, Ended, Evicted, TakePlace>;

}  // namespace tenax::resilience
