// Random planning problems in whole milliseconds, for the planner and the exact solver alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "parallel/planner/schedule_planner.hpp"
#include "tests/parallel/planner/exact_solver.hpp"

namespace tenax::parallel {

/// Passes of 5 to 20 ms, links of 0 to 40 ms; with `limited`, a limit per stage between what keeps 1F1B going and all.
inline ExactProblem random_instance(std::mt19937& random, int stages, int microbatches, bool limited) {
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  ExactProblem problem;
  problem.microbatches = microbatches;
  for (int stage = 0; stage < stages; ++stage) {
    problem.forward.push_back(between(5, 20));
    problem.backward.push_back(between(5, 20));
    problem.weight.push_back(between(5, 20));
    if (stage > 0) problem.delay.push_back(between(0, 40));
    if (limited) problem.limit.push_back(between(std::min(stages - stage, microbatches), microbatches));
  }
  if (limited) problem.weight_share = between(0, 4) / 4.0;
  return problem;
}

inline PlanRequest request_of(const ExactProblem& problem) {
  PlanRequest request;
  request.microbatches = problem.microbatches;
  for (std::size_t s = 0; s < problem.forward.size(); ++s)
    request.costs.stages.push_back({static_cast<double>(problem.forward[s]) * 1e-3,
                                    static_cast<double>(problem.backward[s]) * 1e-3,
                                    static_cast<double>(problem.weight[s]) * 1e-3});
  for (const std::int64_t delay : problem.delay)
    request.costs.link_delay_s.push_back(static_cast<double>(delay) * 1e-3);
  request.limit = {problem.limit, problem.weight_share};
  return request;
}

}  // namespace tenax::parallel
