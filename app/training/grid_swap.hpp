// GridSwap: ranks of a run change places in the grid between steps, and its state goes with the
// places.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "parallel/replica/swappable_replica.hpp"
#include "resilience/swap/state_move.hpp"

namespace tenax::app {

/// Shards, data, random numbers and checkpoints follow places, so a swap changes no bit of what is
/// trained. One thread. Every call is collective.
class GridSwap {
 public:
  /// SwappableReplica::Move; returns what came to this rank, bytes.
  using Move = std::function<std::uint64_t(parallel::Replica& from, parallel::Replica& to,
                                           comm::ControlGroup& control)>;
  /// `replica` outlives it.
  GridSwap(parallel::SwappableReplica& replica, Move move) : replica_(replica), move_(std::move(move)) {}

  /// What depends on places and is not the replica's follows after each swap, in the order of these calls.
  void then(std::function<void()> follow) { follow_.push_back(std::move(follow)); }

  struct Outcome {
    std::uint64_t bytes = 0;  ///< that came to this rank
    double seconds = 0;       ///< in which nothing was trained
    double waited_s = 0;      ///< before it, for what it does not cost: the end of a checkpoint
    std::string refusal;      ///< why the old grid stays in force; empty where the new one is
  };
  /// Between steps, while no checkpoint is being written. `rank_of_position`: ProcessGrid's, equal on
  /// all ranks. Throws where a rank is gone, or what follows a swap fails.
  Outcome run(const std::vector<int>& rank_of_position);

 private:
  parallel::SwappableReplica& replica_;
  Move move_;
  std::vector<std::function<void()>> follow_;
};

/// Moves master weights and moments, from which all other weights follow. Both replicas are
/// GptReplicas, and `rank` this world rank.
std::uint64_t move_model_state(parallel::Replica& from, parallel::Replica& to, comm::ControlGroup& control,
                               int rank, const resilience::MoveRoads& roads);
/// The same for replicas of the emulated device: `bytes` of each rank that moves take their time on `links`.
std::uint64_t move_emulated_state(parallel::Replica& from, parallel::Replica& to, comm::ControlGroup& control,
                                  const parallel::PipelineContext& context, std::uint64_t bytes,
                                  const resilience::MoveRoads& roads);

}  // namespace tenax::app
