// PipelineCosts: what simulate() and the planners know of a pipeline's times.
#pragma once

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
};

struct PipelineCosts {
  std::vector<StageCosts> stages;
  /// One per pair of neighbouring stages, the same both ways; empty = no delay anywhere.
  std::vector<double> link_delay_s;

  int stage_count() const { return static_cast<int>(stages.size()); }
  double delay_s(int link) const {
    return link_delay_s.empty() ? 0.0 : link_delay_s[static_cast<std::size_t>(link)];
  }
  static PipelineCosts uniform(int stage_count, StageCosts each) {
    return {std::vector<StageCosts>(static_cast<std::size_t>(stage_count), each), {}};
  }
};

}  // namespace tenax::parallel
