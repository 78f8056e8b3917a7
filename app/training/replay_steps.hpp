// ReplaySteps: what a rank of tenax replay does in each step beside training.
#pragma once

#include <filesystem>

#include "app/training/run_rank.hpp"
#include "kernels/device.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "resilience/replay/replay_recorder.hpp"
#include "resilience/replay/state_sums.hpp"

namespace tenax::app {

/// Thread rule: the thread that trains.
class ReplaySteps {
 public:
  /// `replica` and `device` must outlive it. Throws Error(rank) if there is no writing into `folder`.
  ReplaySteps(const RunRank& rank, parallel::GptReplica& replica, kernels::Device& device,
              const std::filesystem::path& folder);
  /// For the loop to tell of its updates.
  resilience::StepPoints& points() { return recorder_; }

 private:
  resilience::StateSums sums_;
  resilience::ReplayRecorder recorder_;
};

}  // namespace tenax::app
