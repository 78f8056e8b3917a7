// SimulationRequest: what `tenax simulate` is asked for.
#pragma once

#include <filesystem>
#include <string>

#include "app/command_line.hpp"
#include "app/simulation/simulation_options.hpp"
#include "io/deck/deck.hpp"

namespace tenax::app {

struct SimulationRequest {
  SimulationOptions options;
  int ranks = 1;  ///< of a replica
  int seeds = 5;
  std::filesystem::path costs;  ///< the run that they are of; empty: the paper's

  /// What the command line leaves out the deck says. A replica has as many samples of a step as in the deck, however many
  /// replicas there are. Failures come as FT-HSDP saw them: one in 18 minutes on 98 304 GPUs, each repaired in ten (section
  /// 3). Throws kernels::Error(usage).
  static SimulationRequest of(const io::Deck& deck, const CommandLine& line);
};

}  // namespace tenax::app
