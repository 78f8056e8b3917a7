// What `tenax simulate` prints.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/simulation/simulation.hpp"
#include "app/simulation/simulation_request.hpp"

namespace tenax::app {

/// All that was played for a request.
struct SimulationReport {
  SimulationRequest request;
  SeedResults run = {}, synchronous = {};
  std::vector<std::pair<std::string, SeedResults>> variants = {};
};

std::string simulation_json(const SimulationReport& report);
std::string simulation_text(const SimulationReport& report);
/// "12 replicas of 8192 ranks, 1 spare, 168 hours; a failure every 18 minutes, repaired in 10"
std::string simulation_title(const SimulationReport& report);

}  // namespace tenax::app
