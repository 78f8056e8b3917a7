// StepShare: how much a replica computes of a step, and what that makes of the step's time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "app/training/step_rounds.hpp"

namespace tenax::app {

/// A share may be another one than usual for as long as the run lasts: where others are gone, or the
/// batch cannot be shared evenly. Then its steps' times are compared with each other, as those of any
/// level. Pure.
class StepShare {
 public:
  /// `usual`: samples of a step, which the pipeline's schedule was planned for.
  explicit StepShare(std::int64_t usual) : usual_(usual), samples_(usual) {}

  /// An attempt at a step. `is_apart`: it is the first one with these replicas, or this one fetches
  /// its state meanwhile.
  void begin(const std::vector<StepRound>& rounds, bool is_apart);

  /// The step has the microbatches that the pipeline's adaptation knows.
  bool is_usual() const { return is_whole_ && samples_ == usual_; }
  /// The step's time says nothing of the next ones'.
  bool is_exceptional() const { return is_apart_ || !is_whole_; }
  /// What the step computes, relative to the usual; 1 where it computes nothing.
  double load() const;
  /// Since the last call the share has become another one.
  bool take_change() { return std::exchange(has_changed_, false); }

 private:
  std::int64_t usual_;
  std::int64_t samples_;   // of the attempt
  std::int64_t last_ = 0;  // of the last step that was not exceptional; 0: there was none
  bool is_whole_ = true;   // one round of passes
  bool is_apart_ = false;
  bool has_changed_ = false;
};

}  // namespace tenax::app
