// The picture of a simulated run.
#pragma once

#include <string>

#include "app/simulation/simulated_run.hpp"

namespace tenax::app {

/// An SVG: over the run's hours the share of time that was useful or lost to each cause, and below it a row for each
/// replica, with gaps where it was no member.
std::string draw_simulation_svg(const SimulationResult& result, int replicas, const std::string& title);

}  // namespace tenax::app
