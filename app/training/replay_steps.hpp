// ReplaySteps: what a rank of tenax replay does in each step beside training.
#pragma once

#include <filesystem>
#include <optional>

#include "app/training/run_rank.hpp"
#include "kernels/device.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "resilience/faults/bit_flips.hpp"
#include "resilience/replay/replay_recorder.hpp"
#include "resilience/replay/state_sums.hpp"

namespace tenax::app {

/// Records what the rank holds. Before that it flips the bits that the deck wants flipped, as a faulty
/// machine would: tests alone have such decks here. Thread rule: the thread that trains.
class ReplaySteps final : public resilience::StepPoints {
 public:
  /// All but `folder` must outlive it. Throws Error(rank) if there is no writing into `folder`,
  /// Error(job) where the deck wants a bit flipped that this rank does not hold.
  ReplaySteps(const RunRank& rank, parallel::GptReplica& replica, kernels::Device& device,
              const std::filesystem::path& folder);
  void reach(resilience::StepPoint point, std::int64_t step) override;

 private:
  void flip_bits(std::int64_t step);

  resilience::StateSums sums_;
  resilience::ReplayRecorder recorder_;
  kernels::Tensor gradients_;
  std::optional<resilience::BitFlips> flips_;
};

}  // namespace tenax::app
