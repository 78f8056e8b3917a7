// Replay: the same steps twice from a checkpoint, on one host or two, to find a machine that computes
// wrongly now and then (ft-hsdp, section 2.2, deterministic training).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_info.hpp"
#include "resilience/replay/replay_difference.hpp"

namespace tenax::app {

struct ReplayRequest {
  std::filesystem::path checkpoint;
  io::CheckpointInfo info;  ///< of the same, which has been verified
  std::int64_t steps = 0;
  std::string on;                      ///< replay_hosts.hpp
  std::vector<std::string> overrides;  ///< of the checkpoint's deck
};

struct ReplayOutcome {
  std::optional<resilience::ReplayDifference> difference;  ///< hosts as --on names them
  std::int64_t first_step = 0;                             ///< the first that was done again
  int ranks = 0, tensors = 0;                              ///< compared
  std::array<std::string, 2> hosts;                        ///< of each run, "alpha+beta"
};

/// Runs both, one after the other where they share a host, and compares them. Leaves nothing behind.
/// Throws Error: usage for what is wrong with the request, rank where a run failed or `is_stopped()`,
/// which is asked all the time, was true.
ReplayOutcome replay(const ReplayRequest& request, const std::function<bool()>& is_stopped);

}  // namespace tenax::app
