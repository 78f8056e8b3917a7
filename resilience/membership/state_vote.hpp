// StateVote: compares what the replicas of an epoch committed: Σg² and the digests of their state. They must be equal bit for
// bit; one that differs has another state than the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "resilience/membership/state_digest.hpp"

namespace tenax::resilience {

/// By what a replica was found out.
enum class CorruptBy { squares, digest, norm, non_finite };
inline constexpr CorruptBy kCorruptBys[] = {CorruptBy::squares, CorruptBy::digest, CorruptBy::norm,
                                            CorruptBy::non_finite};
constexpr const char* name_of(CorruptBy by) {
  constexpr const char* kNames[] = {"squares", "digest", "norm", "non_finite"};
  return kNames[static_cast<int>(by)];
}

/// What a commit tells of its sender's state.
struct StateEvidence {
  std::uint64_t squares = 0;  ///< the bits of Σg²
  PlacedSum sums = {};        ///< of the bits of each place's
  std::optional<StateDigest> digest =
      {};  ///< of the state with which the step began; absent where it has none
};

/// Replicas that differ.
struct Dissent {
  CorruptBy by = CorruptBy::squares;
  /// The ones that most others contradict. Where no value has two votes, and more than any other, all: nobody can say which
  /// are right. A replica that has fetched its state since this was equal on all has no vote on it: it may have fetched a
  /// wrong one.
  std::vector<int> replicas;
  bool is_tie = false;
  std::int64_t trusted = 0;              ///< the state after so many steps was equal on all
  StateEvidence right = {}, wrong = {};  ///< of one of the most, and of one that differs
};

class StateVote {
 public:
  /// `digest_steps`: digests of so many steps in a row cover the whole state; 0: there are none.
  explicit StateVote(std::int64_t digest_steps) : digest_steps_(digest_steps) {}

  /// `voters`: those that hold the state from the epoch's beginning, after `from_step` steps; others vote from their first commit
  /// on. Who was no voter in the epoch before, unless there was none, has fetched the state.
  void begin(std::set<int> voters, std::int64_t from_step);
  /// The state after `done` steps is equal on all replicas.
  void trust(std::int64_t done);

  /// The replicas that differ, once all voters have committed `step`.
  std::optional<Dissent> add(std::int64_t step, int replica, const StateEvidence& evidence);

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(voters_, open_);
  }

 private:
  using Votes = std::map<int, StateEvidence>;  // by replica

  std::optional<Dissent> compare_digests(std::int64_t step, const Votes& votes);

  std::int64_t digest_steps_;
  std::set<int> voters_;
  std::map<int, std::int64_t> joined_;  // by replica: the first step of one that has fetched its state
  std::map<std::int64_t, Votes> open_;  // by step
  std::int64_t trusted_ = 0;            // of slices that have not been compared since
  std::map<std::int64_t, std::int64_t> compared_;  // by slice: the last step at which it was equal on all
};

}  // namespace tenax::resilience
