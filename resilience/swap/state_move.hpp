// StateMove: a rank's part in the move of training state when ranks change places in the grid.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm/connection.hpp"
#include "comm/control_group.hpp"
#include "parallel/layout/process_grid.hpp"

namespace tenax::resilience {

/// Whose state a rank takes over, and who takes over its own: world ranks. Both are the rank itself
/// where it keeps its place.
struct PlaceChange {
  PlaceChange(const parallel::ProcessGrid& from, const parallel::ProcessGrid& to, int rank);
  bool moves() const { return source != rank; }

  int rank, source, destination;
  int generation;  ///< of the grid that is moved to
};

/// How ranks reach each other for a move.
struct MoveRoads {
  comm::Transport& transport;
  const std::vector<comm::Peer>& peers;  ///< by world rank
  double deadline_s = 60;                ///< for a connection, and for each chunk of the state
};

/// One thread. The destructor stops what is under way.
class StateMove {
 public:
  virtual ~StateMove() = default;
  /// Waits up to `seconds`. Whether this rank still waits for something. Throws Error(link).
  virtual bool goes_on(double seconds) = 0;
  /// That came from another rank.
  virtual std::uint64_t bytes() const = 0;
};

/// Collective: every rank begins its part and waits for its end; nobody waits for another for long.
/// Returns what came to this rank, bytes. Throws comm::AgreedError where a rank fails.
std::uint64_t move_state(comm::ControlGroup& control,
                         const std::function<std::unique_ptr<StateMove>()>& begin);

}  // namespace tenax::resilience
