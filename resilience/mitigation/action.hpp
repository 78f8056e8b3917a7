// Action: what rank 0 has decided to do about something slow, told to all ranks.
#pragma once

#include <string>
#include <string_view>

#include "resilience/mitigation/run_placement.hpp"
#include "resilience/mitigation/strategy.hpp"

namespace tenax::resilience {

/// All ranks go over to `placement`, or end the run to be started elsewhere.
struct Action {
  Strategy strategy = Strategy::microbatches;
  RunPlacement placement;
  bool operator==(const Action&) const = default;
};

/// One line of numbers, in which it is broadcast.
std::string to_text(const Action& action);
/// Of what to_text() returned. Throws Error(rank) where it holds something that is no number.
Action action_of_text(std::string_view text);

}  // namespace tenax::resilience
