// ReplayRecorder: writes down what a rank holds in each step (replay_record.hpp).
#pragma once

#include <filesystem>

#include "io/run/line_file.hpp"
#include "resilience/replay/replay_record.hpp"
#include "resilience/replay/state_sums.hpp"
#include "resilience/replicas/step_points.hpp"

namespace tenax::resilience {

/// Thread rule: the thread that trains.
class ReplayRecorder final : public StepPoints {
 public:
  /// `sums` must outlive it. `rank`: without tensors and parts, which are those of the sums. Throws
  /// Error(rank) if there is no writing into `folder`.
  ReplayRecorder(const std::filesystem::path& folder, ReplayRank rank, StateSums& sums, double deadline_s);
  /// Before an update and after it. Throws Error(rank) for a full disk.
  void reach(StepPoint point, std::int64_t step) override;

 private:
  StateSums& sums_;
  double deadline_s_;
  io::LineFile file_;
};

}  // namespace tenax::resilience
