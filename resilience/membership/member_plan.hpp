// MemberPlan and StepOutcome: what the membership protocol and the training thread of a replica
// tell each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "resilience/membership/parts.hpp"
#include "resilience/membership/records.hpp"

namespace tenax::resilience {

/// What a replica is to do next.
struct MemberPlan {
  enum class Action {
    wait,     ///< nothing yet: ask again after the next message
    restore,  ///< load the newest checkpoint, then on_restored()
    train,    ///< a step: begin_step(), passes, begin_vote(), vote, on_vote()
    save,     ///< write the checkpoint of `step` steps, then on_saved()
    exit,     ///< end with `status`
    give_up   ///< there is no service: save what there is, end with status 1
  };

  Action action = Action::wait;
  int status = 0;
  std::string reason = {};  ///< of an exit with a status other than 0, of giving up

  std::int64_t step = 0;         ///< that is to be trained; steps done, where it is to save or gives up
  std::int64_t next_sample = 0;  ///< the first sample after those, where it is to save or gives up

  // Of a step to train.
  std::int64_t epoch = 0;
  /// The step's, of all replicas. Of its own ones the caller computes what it has not computed yet
  /// in earlier attempts at the step. Where a part that it has computed is not among them any more
  /// it begins anew.
  std::vector<Part> parts = {};
  /// It takes part with zeros and fetches the state after `step` steps from `holders`:
  /// on_fetched().
  bool is_behind = false;
  std::vector<int> holders = {};  ///< replicas that hold the state the step begins with
};

/// How the exchange of a step ended.
struct StepOutcome {
  bool has_all_sums = false;  ///< all ranks of this replica have all sums of the step

  // Where it has: equal on all replicas.
  std::vector<char> whole = {};  ///< is_whole() of each member as exchanged, in ring order
  double time = 0;               ///< UNIX seconds
  double loss = 0, grad_norm = 0, lr = 0;
  std::uint64_t squares = 0;               ///< the bits of Σg²
  PlacedSum sums = {};                     ///< CommitRecord::sums
  std::optional<StateDigest> digest = {};  ///< CommitRecord::digest: this replica's own
  double iteration_s = 0;                  ///< CommitRecord::iteration_s
  std::vector<MemberTimes> members = {};
  bool is_masked = false;
  bool is_crowded = false;

  // Where it has not.
  std::optional<Accusation> accusation = {};  ///< a sum is wrong, and whose
  int suspect = -1;  ///< the replica at which the exchange failed; −1: unknown, or it was frozen
  std::string why = {};
};

}  // namespace tenax::resilience
