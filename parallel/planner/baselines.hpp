// The schedules of the literature that know nothing of link delays, and how many forwards a stage
// runs before its first backward (Algorithms 1 and 2 of PipeMorph, NSDI 2026, corrected). Pure and
// deterministic.
//
//   gpipe        all F, then all BW (Huang et al., NeurIPS 2019); holds every microbatch
//   1f1b         S − s forwards ahead, then one F, one BW (PipeDream-flush, Narayanan et al., ICML 2021)
//   zero_bubble  B and W apart (Qi et al., ICLR 2024), warm-up forwards by Algorithm 1 of the PipeMorph paper
#pragma once

#include <vector>

#include "parallel/planner/planning_problem.hpp"
#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

PipelineSchedule plan_gpipe(int stages, int microbatches);
PipelineSchedule plan_one_f_one_b(int stages, int microbatches);
/// Stays within any limit ≥ 1. Link delays in `costs` are ignored. A single stage runs F, B, W of
/// one microbatch after the other.
PipelineSchedule plan_zero_bubble(int microbatches, const PipelineCosts& costs,
                                  const ActivationLimit& limit = {});

/// The most microbatches that plan_zero_bubble's warm-up holds: min(2S − 1, N). More only defers
/// weight passes.
int zero_bubble_warmup(int stages, int microbatches);
/// Warm-up forwards x_0 ≥ x_1 ≥ … ≥ 1 of plan_zero_bubble: Algorithm 1 with x_0 = min(2S − 1, N,
/// limit).
std::vector<int> initial_warmup(int stages, int microbatches, const ActivationLimit& limit = {});

/// Algorithm 1 for a given x_0: slackness spread evenly over the links, the larger first;
/// non-increasing, ≥ 1, within each stage's limit. Below x_0 = S it keeps 1F1B's counts, so that
/// the pipeline stays filled.
std::vector<int> even_warmup(const PlanningProblem& problem, int first);

/// Algorithm 2. The last stage has one warm-up forward. Each stage before has as many more as its
/// link's slackness: what absorbs the link's delay by equation 1, at least `least_slackness`, plus
/// `extra`. Within each stage's limit, non-increasing, ≥ 1.
std::vector<int> adapted_warmup(const PlanningProblem& problem, int least_slackness, int extra);

/// As adapted_warmup, with another divisor in equation 1: F + B + W of the slowest stage, the least
/// time that a pipeline takes per microbatch, in place of the next stage's F + B.
std::vector<int> period_warmup(const PlanningProblem& problem, int least_slackness, int extra);

}  // namespace tenax::parallel
