// How many forwards each stage runs before its first backward: Algorithms 1 and 2 of PipeMorph (NSDI 2026), corrected.
#pragma once

#include <vector>

#include "parallel/planner/planning_problem.hpp"

namespace tenax::parallel {

/// Algorithm 1 for a given x_0: slackness spread evenly over the links, the larger first; non-increasing, ≥ 1, within
/// each stage's limit. Below x_0 = S it keeps 1F1B's counts, so that the pipeline stays filled.
std::vector<int> even_warmup(const PlanningProblem& problem, int first);

/// Algorithm 2: from the last stage's one upwards, the slackness that absorbs each link's delay by equation 1, and at
/// least `least_slackness`; plus `extra` per link. Within each stage's limit, non-increasing, ≥ 1.
std::vector<int> adapted_warmup(const PlanningProblem& problem, int least_slackness, int extra);

/// As above, the slackness measured by the period of the slowest stage (F + B + W), which it cannot fall below.
std::vector<int> period_warmup(const PlanningProblem& problem, int least_slackness, int extra);

}  // namespace tenax::parallel
