// PipelineCosts: what simulate() and the planners know of a pipeline's times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

struct StageCosts {
  double forward_s = 0, backward_input_s = 0, backward_weight_s = 0;

  /// The fused backward takes both of its parts.
  double of(Pass pass) const {
    switch (pass) {
      case Pass::forward:
        return forward_s;
      case Pass::backward_input:
        return backward_input_s;
      case Pass::backward_weight:
        return backward_weight_s;
      case Pass::backward:
        break;
    }
    return backward_input_s + backward_weight_s;
  }
  bool operator==(const StageCosts&) const = default;
};

struct PipelineCosts {
  std::vector<StageCosts> stages;
  /// One per pair of neighbouring stages, the same both ways; empty = no delay anywhere.
  std::vector<double> link_delay_s;
  /// Of its delay, for so long a delegated message holds the wire of its direction: the next one starts after that. 0 =
  /// messages overlap in full. A link of less delay is held for all of it.
  double wire_s = 0;

  int stage_count() const { return static_cast<int>(stages.size()); }
  double delay_s(int link) const {
    return link_delay_s.empty() ? 0.0 : link_delay_s[static_cast<std::size_t>(link)];
  }
  double held_s(int link) const { return std::min(wire_s, delay_s(link)); }
  static PipelineCosts uniform(int stage_count, StageCosts each) {
    return {std::vector<StageCosts>(static_cast<std::size_t>(stage_count), each), {}};
  }
  bool operator==(const PipelineCosts&) const = default;
};

}  // namespace tenax::parallel
