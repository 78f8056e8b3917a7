// Messages from the leaders of the replicas to the membership service. A link keeps their order;
// none is lost without the link closing.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "resilience/membership/records.hpp"

namespace tenax::resilience {

/// The first message on a link. Commits that are not acknowledged yet follow.
struct CheckIn {
  static constexpr const char* kKind = "check_in";

  ReplicaId id;
  std::string build = {},
              deck = {};  ///< what must be equal everywhere: the program, the resolved deck's digest
  std::string data = {};  ///< of the files that it trains on, as it found them; they must be all others', too
  /// With which its ranks sum and update on the CPU: other loops have other bits. Empty on other devices.
  std::string loops = {};
  std::string host = {};
  std::vector<std::string> addresses = {};  ///< where each rank takes connections
  /// Where each rank gives its state to others; none: there, too.
  std::vector<std::string> state_addresses = {};
  std::int64_t done = -1;        ///< steps of the state it holds; −1: it holds none
  std::int64_t next_sample = 0;  ///< samples used up by these steps
  std::int64_t epoch = 0;        ///< the newest it knows; 0: none
  bool needs_change = false;     ///< it cannot go on in that epoch
  bool stops = false;            ///< it was asked, or told, to end the run
  bool is_writer = false;        ///< in that epoch
};

/// What a replica is about.
enum class StepPhase { idle, passes, vote, failed };
inline constexpr StepPhase kStepPhases[] = {StepPhase::idle, StepPhase::passes, StepPhase::vote,
                                            StepPhase::failed};
constexpr const char* name_of(StepPhase phase) {
  constexpr const char* kNames[] = {"idle", "passes", "vote", "failed"};
  return kNames[static_cast<int>(phase)];
}

/// A sign of life. `step`: the next it takes part in, or does now.
struct Beat {
  static constexpr const char* kKind = "beat";

  std::int64_t epoch = 0, step = 0;
  StepPhase phase = StepPhase::idle;
};

/// The answer to Freeze or Hold. To Freeze it is final: the member completes no further step in
/// that epoch.
struct Report {
  static constexpr const char* kKind = "report";

  std::int64_t change = 0;
  std::int64_t epoch = 0;        ///< the newest it knows
  std::int64_t done = -1;        ///< steps of the state it holds; −1: it holds none
  std::int64_t next_sample = 0;  ///< samples used up by these steps
  bool has_begun = false;        ///< it computes step `done`, or has done so
  std::vector<Part> parts = {};  ///< of step `done`, its own; empty where it has none
};

/// The answer to a Hold that came too late.
struct HoldMissed {
  static constexpr const char* kKind = "hold_missed";

  std::int64_t change = 0;
  std::int64_t step = 0;  ///< the next in which it can still be held
};

/// It has the sums of a step on all of its ranks.
struct Commit {
  static constexpr const char* kKind = "commit";

  CommitRecord record;
};

/// Its exchange in `epoch` failed.
struct Suspect {
  static constexpr const char* kKind = "suspect";

  std::int64_t epoch = 0;
  int replica = -1;  ///< where it failed; −1: unknown
  std::string why = {};
};

/// It ends the step in `epoch` without a result, because of a replica whose sums are wrong.
struct Accuse {
  static constexpr const char* kKind = "accuse";

  std::int64_t epoch = 0;
  Accusation accusation;
};

/// The answer to Restore.
struct Restored {
  static constexpr const char* kKind = "restored";

  std::int64_t done = 0, next_sample = 0;
};

/// The writer has a checkpoint of `done` steps complete, under a name of its own, or could not write
/// it. The last one of a run is the answer to StopAt. Said again to a service that comes later.
struct Saved {
  static constexpr const char* kKind = "saved";

  std::int64_t done = 0;
  std::int64_t bytes = 0;    ///< of the file; 0: the run writes none
  double seconds = 0;        ///< that it took
  std::string failure = {};  ///< why there is no file, a sentence; empty where nothing failed
  bool is_final = false;     ///< of a failure: the writer tries no more
};

/// The state after `done` steps has this loss on the validation data. Said again until it is recorded.
struct Validated {
  static constexpr const char* kKind = "validated";

  std::int64_t done = 0;
  double loss = 0;     ///< mean over tokens, nats
  double seconds = 0;  ///< that it took
};

/// It was behind and holds the state now. Said again to each service until one has said that it is
/// recorded, so a service that is killed in between leaves it recorded twice.
struct Joined {
  static constexpr const char* kKind = "joined";

  std::int64_t epoch = 0;  ///< that it joined in
  double state_s = 0;      ///< since it began to fetch the state
  double held_s = 0;       ///< of them, the members waited for it so long
  std::int64_t bytes = 0;  ///< that its ranks fetched
  int sources = 0;         ///< replicas that gave some of them
};

/// A rank of it is lost: it leaves the run.
struct RankLost {
  static constexpr const char* kKind = "rank_lost";

  int rank = 0;  ///< in the replica
  std::string host = {};
  double silent_s = 0;   ///< since it was heard of last
  bool is_gone = false;  ///< its connection closed; else it is silent
};

/// It could not go on without a service, and waited for this one.
struct ServiceMissed {
  static constexpr const char* kKind = "service_missed";

  double seconds = 0;
};

/// It has found out something of itself that belongs to the run's events. Said again to each service
/// until one has said that it is recorded, so a service that is killed in between leaves it recorded
/// twice.
struct Observed {
  static constexpr const char* kKind = "observed";

  std::int64_t number = 0;  ///< from 1 on, of this incarnation
  std::string event = {};
  std::int64_t step = 0;
  std::string details = {};  ///< a JSON object
};

/// The first message on a link of a warm spare: it has started, and can take a replica's place at once.
/// Beats follow.
struct SpareReady {
  static constexpr const char* kKind = "spare_ready";

  int spare = 0;
};

/// The run shall end.
struct StopWish {
  static constexpr const char* kKind = "stop_wish";
};
/// This replica shall leave the run.
struct Leave {
  static constexpr const char* kKind = "leave";
};

using MemberMessage =
    std::variant<CheckIn, Beat, Report, HoldMissed, Commit, Suspect, Accuse, Restored, Saved, Validated,
                 Joined, RankLost, ServiceMissed, Observed, SpareReady, StopWish, Leave>;

}  // namespace tenax::resilience
