// PipelineContext: what a pipeline is built in, and how its links are to be made.
#pragma once

#include <vector>

#include "comm/connection.hpp"
#include "comm/emulated/direct_endpoint.hpp"
#include "comm/world.hpp"

namespace tenax::parallel {

/// Which ways a pipeline's messages may go: over the device's own path, over delegates (threads of
/// the host), or over the own path until a link is slow or breaks.
enum class PathChoice { automatic, direct_only, delegated_only };

/// Delegates of a link and direction, where neither the deck nor the planner says.
inline constexpr int kDefaultDelegates = 4;

struct PipelineOptions {
  PathChoice paths = PathChoice::automatic;
  double deadline_s = 60;  ///< for a neighbour's message
  int sockets_per_link =
      0;  ///< delegates of a link and direction; 0: as many as the caller of set_path() says
  bool follows_delays = false;   ///< SchedulePolicy::follows_delays
  comm::DirectOptions emulated;  ///< for the emulated device's direct links
};

/// What the references name outlives the pipeline.
struct PipelineContext {
  PipelineOptions options;
  comm::World& world;  ///< with injected faults, if there are any
  kernels::Device& device;
  comm::Transport* transport = nullptr;  ///< null: direct links over MPI are all there is
  const std::vector<comm::Peer>& peers;  ///< by world rank; empty without a transport
};

}  // namespace tenax::parallel
