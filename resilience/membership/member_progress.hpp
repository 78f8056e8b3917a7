// MemberProgress: where a replica stands in training: the step it is at, which samples that step
// has and who computes them, and whether the replica holds the state the step begins with.
#pragma once

#include <cstdint>
#include <vector>

#include "resilience/membership/epoch.hpp"
#include "resilience/membership/parts.hpp"

namespace tenax::resilience {

class MemberProgress {
 public:
  MemberProgress(int replica, SampleRules rules) : replica_(replica), rules_(rules) {}

  /// It has loaded the state after `done` steps, which used up `next_sample` samples.
  void restore(std::int64_t done, std::int64_t next_sample);
  /// Goes to the epoch's first step. Where it is behind, it holds no state from now on.
  void adopt(const Epoch& epoch);
  /// It computes the step.
  void begin() { begun_ = step_; }
  /// It has fetched the state that the step begins with.
  void fetch() { done_ = step_; }
  /// All sums of the step are there. `whole`, in ring order: who holds the state after it. Returns
  /// whether this replica does: it then updates its weights.
  bool complete(const std::vector<char>& whole);

  std::int64_t step() const { return step_; }
  /// Steps of the state it holds; −1: none.
  std::int64_t done() const { return done_; }
  bool is_whole() const { return done_ == step_; }
  bool has_begun() const { return begun_ == step_; }
  std::int64_t first_sample() const { return first_sample_; }
  /// The step's, of all replicas.
  const std::vector<Part>& parts() const { return parts_; }
  std::vector<Part> own_parts() const;
  /// The replicas that hold the state the step begins with.
  const std::vector<int>& holders() const { return holders_; }

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(ring_, holders_, step_, done_, begun_, first_sample_, parts_);
  }

 private:
  int replica_;
  SampleRules rules_;
  std::vector<int> ring_, holders_;
  std::int64_t step_ = 0, done_ = -1, begun_ = -1, first_sample_ = 0;
  std::vector<Part> parts_;
};

}  // namespace tenax::resilience
