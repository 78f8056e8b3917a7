// What a run's events say of replicas whose states differ: where, in which part, since when.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/state_places.hpp"
#include "io/run/run_files.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::app {

/// Where the wrong element is; what is not known is empty, or −1.
struct CorruptPlace {
  int rank = -1;
  std::string tensor, part;  ///< part: "weight", a moment's name, "sum" or "own_sum"
};
CorruptPlace corrupt_place(const resilience::StateCorrupt& corrupt, const StatePlaces& places);

/// The host of a rank of a replica; of rank −1 that of the replica.
using HostOfRank = std::function<std::string(int replica, int rank)>;
/// One for each replica that is wrong; one without a replica where nobody can say which.
std::vector<io::RunEvent> corrupt_events(const resilience::StateCorrupt& corrupt, const CorruptPlace& place,
                                         const HostOfRank& host_of);
/// For the console.
std::string corrupt_line(const resilience::StateCorrupt& corrupt, const CorruptPlace& place);

}  // namespace tenax::app
