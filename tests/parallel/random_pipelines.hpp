// Random pipelines for property tests: any number of stages and microbatches, unequal times and delays.
#pragma once

#include <random>

#include "parallel/schedule/pipeline_costs.hpp"

namespace tenax::parallel {

struct RandomPipeline {
  int microbatches = 1;
  PipelineCosts costs;
};

/// Times of 5 to 20 ms and delays of 0 to 40 ms, in whole milliseconds.
inline RandomPipeline random_pipeline(std::mt19937& random, unsigned max_stages, unsigned max_microbatches) {
  const auto ms = [&](unsigned low, unsigned high) { return 1e-3 * (low + random() % (high - low + 1)); };
  RandomPipeline pipeline{1 + static_cast<int>(random() % max_microbatches), {}};
  for (unsigned stages = 1 + random() % max_stages; stages > 0; --stages) {
    const double forward_s = ms(5, 20), backward_input_s = ms(5, 20), backward_weight_s = ms(5, 20);
    pipeline.costs.stages.push_back({forward_s, backward_input_s, backward_weight_s});
    if (stages > 1) pipeline.costs.link_delay_s.push_back(ms(0, 40));
  }
  return pipeline;
}

}  // namespace tenax::parallel
