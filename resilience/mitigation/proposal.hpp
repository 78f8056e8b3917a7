// Proposals: what could be done now, and what each is expected to bring.
#pragma once

#include <vector>

#include "resilience/diagnosis/component.hpp"
#include "resilience/mitigation/candidates.hpp"
#include "resilience/mitigation/iteration_forecast.hpp"
#include "resilience/mitigation/run_placement.hpp"
#include "resilience/mitigation/strategy.hpp"

namespace tenax::resilience {

struct Proposal {
  Strategy strategy = Strategy::microbatches;
  std::vector<Component> against;
  RunPlacement placement;  ///< after it
  double gain_s = 0;       ///< > 0: by which an iteration becomes shorter
  double returned_s = 0;   ///< and by which besides, as ways back that cost nothing would make it, too
};

/// One for each strategy that the run allows, that helps against something slow (candidates.hpp)
/// and of which the forecast expects a gain; a ring order for each data group, then for all of them
/// at once. In the order of `Strategy`. Takes as long as the pipelines take to evaluate: some milliseconds to a second.
std::vector<Proposal> propose(IterationForecast& forecast, const Possibilities& run);

}  // namespace tenax::resilience
