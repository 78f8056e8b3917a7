// What a replica has told of itself to be slow or healed, for a person.
#pragma once

#include <string>

#include "resilience/membership/service_output.hpp"

namespace tenax::app {

/// "step 36: replica 1: rank 1 (node7) is slow: 3 times as long (compute)", as the replica's own rank 0 says it. Empty
/// for other events, and where the details are not those of contract/failslow.md. Pure.
std::string observed_line(const resilience::ReplicaObserved& observed);

}  // namespace tenax::app
