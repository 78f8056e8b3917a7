// SliceMove: the move of a state that has data, in checksummed slices, from memory to memory.
#pragma once

#include <optional>

#include "resilience/replicas/state_fetch.hpp"
#include "resilience/replicas/state_server.hpp"
#include "resilience/replicas/state_slices.hpp"
#include "resilience/swap/state_move.hpp"

namespace tenax::resilience {

/// A rank that moves serves its old state to the rank that takes its place, and fetches that of its new
/// place. A rank that stays copies its own.
class SliceMove final : public StateMove {
 public:
  /// Begins. `from`, `to`: this rank's state in the old and the new grid, and all that `roads` names:
  /// outlive it.
  SliceMove(const PlaceChange& change, const StateSlices& from, const StateSlices& to,
            const MoveRoads& roads);

  bool goes_on(double seconds) override;
  std::uint64_t bytes() const override { return fetch_ ? fetch_->bytes() : 0; }

 private:
  PlaceChange change_;
  StepPoints nobody_;
  StateServer server_;
  std::optional<StateFetch> fetch_;  // absent on a rank that stays
};

}  // namespace tenax::resilience
