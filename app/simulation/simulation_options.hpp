// SimulationOptions: a run of replicas to be played in virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/launch/restart_policy.hpp"
#include "app/simulation/fail_slow_model.hpp"
#include "app/simulation/simulated_costs.hpp"
#include "resilience/membership/parts.hpp"

namespace tenax::app {

inline constexpr double kMinute_s = 60, kHour_s = 3600;

struct SimulationOptions {
  int replicas = 1, min_replicas = 1;
  int spares = 0;  ///< replicas that are started and idle
  double hours = 1;
  double failure_s = 0;     ///< mean time between two failures of the hosts of all replicas; 0: none fail
  double repair_s = 0;      ///< mean, of a host and of the replica on it
  bool is_regular = false;  ///< failures are evenly spaced, repairs equally long; else both are random
  FailSlowModel slow = {};  ///< of each replica
  resilience::SampleRules samples;
  int pipeline = 1;                   ///< stages
  double checkpoint_every_s = 1800;   ///< 0: in every step
  std::int64_t checkpoint_steps = 0;  ///< one checkpoint in so many steps; 0: checkpoint_every_s says
  std::int64_t evaluation_steps = 0;  ///< one evaluation in so many steps; 0: there are none
  RestartPolicy::Options restart;
  std::vector<std::string> zones = {};  ///< of places (SimulatedPlaces)
  SimulatedCosts costs;
};

}  // namespace tenax::app
