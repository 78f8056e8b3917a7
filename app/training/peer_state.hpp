// PeerState: what a rank of a replica tells the others of its own state, and what a deck's [[inject]] entries do to it.
#pragma once

#include <cstdint>
#include <optional>

#include "app/state_places.hpp"
#include "app/training/run_rank.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "resilience/faults/bit_flips.hpp"
#include "resilience/replicas/digest_slices.hpp"
#include "resilience/replicas/own_norms.hpp"

namespace tenax::app {

/// Where the device's memory is not the host's, nothing is told, and nothing done. Thread rule: the thread that trains.
class PeerState {
 public:
  /// Both outlive it. Throws kernels::Error(job) where the deck wants a bit flipped that this rank does not hold.
  PeerState(const RunRank& rank, parallel::GptReplica& replica);

  /// A step begins. `has_state`: with the state that it needs, which stays as it is until the update.
  void begin_step(std::int64_t step, bool has_state);
  /// A piece of the own sums is final, for whatever stands behind the stream's work of that time.
  void on_own_piece(kernels::Stream& stream, const parallel::GradientPiece& piece);
  /// The sums over replicas are there.
  void on_sums();

  /// Of the state with which `step` begins; absent where the deck wants none.
  std::optional<resilience::StateDigest> digest(std::int64_t step) const;
  /// Of this rank's part of the own sums, which are final.
  resilience::OwnSquares own_squares();
  /// Of Σg² of the sums over replicas, after the replica's norm().
  resilience::PlacedSum placed_squares() const;

  /// What flipped bits may strike of a rank's state and gradients, where these are in host memory.
  static std::vector<resilience::FlipTarget> flip_targets(parallel::GptReplica& replica);

 private:
  resilience::PlacedSum placed(const std::vector<parallel::RowSquares>& rows) const;

  const RunRank& rank_;
  parallel::GptReplica& replica_;
  StatePlaces places_;
  std::optional<resilience::DigestSlices> digests_;
  std::optional<resilience::BitFlips> flips_;
};

}  // namespace tenax::app
