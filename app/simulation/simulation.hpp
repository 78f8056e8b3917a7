// Simulation: what a run of replicas would be worth at some scale, and what would make it worth more.
#pragma once

#include <string>
#include <vector>

#include "app/simulation/simulated_run.hpp"

namespace tenax::app {

/// The runs of several seeds, by effective time.
struct SeedResults {
  SimulationResult median, worst;
};

/// Seeds 1 … `seeds`, on all cores.
SeedResults play_seeds(const SimulationOptions& options, int seeds);

/// The same hosts as one synchronous job: each failure ends it for a whole repair (FT-HSDP, sections 3 and 6.1). What it had
/// trained since its last checkpoint is not counted as lost, as there. So that chance has less of it, as many hours are played as
/// replicas have together.
SimulationOptions as_synchronous(const SimulationOptions& options);

/// One thing that could be otherwise.
struct SimulationVariant {
  std::string name;
  SimulationOptions options;
};

/// One more replica, one more spare, half the repair time; fail-slows as FailSlowModel::of_job() has them, in replicas of
/// `ranks` ranks.
std::vector<SimulationVariant> variants_of(const SimulationOptions& options, int ranks);

/// Samples in a second, beside those of `base`: 1 = as many.
double relative_rate(const SimulationResult& result, const SimulationResult& base);

}  // namespace tenax::app
