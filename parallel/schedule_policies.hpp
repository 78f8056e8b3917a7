// The pipeline schedules a run can ask for, as PipelineSchedules.
//
//   gpipe        all F, then all BW (Huang et al., NeurIPS 2019); holds every microbatch
//   1f1b         S − s forwards ahead, then one F, one BW (PipeDream-flush, Narayanan et al., ICML 2021)
//   zero_bubble  B and W apart (Qi et al., ICLR 2024), warm-up forwards by Algorithm 1 of the PipeMorph paper,
//                planned for no link delay
//   adaptive     planned for the link delays (plan_adaptive); without any, the largest uniform slackness that the
//                limit allows (plan_initial)
//
// Pure and deterministic: equal arguments give equal schedules on every rank.
#pragma once

#include <string>
#include <vector>

#include "parallel/pipeline_costs.hpp"
#include "parallel/pipeline_schedule.hpp"

namespace tenax::parallel {

enum class SchedulePolicy { gpipe, one_f_one_b, zero_bubble, adaptive };

/// "gpipe", "1f1b", "zero_bubble", "adaptive": the deck's names. Throws Error(usage) for any other.
SchedulePolicy policy_of_name(const std::string& name);

PipelineSchedule plan_gpipe(int stages, int microbatches);
PipelineSchedule plan_one_f_one_b(int stages, int microbatches);
/// Stays within any limit ≥ 1. Link delays in `costs` are ignored. A single stage runs F, B, W of one
/// microbatch after the other.
PipelineSchedule plan_zero_bubble(int microbatches, const PipelineCosts& costs,
                                  const ActivationLimit& limit = {});

/// Warm-up forwards x_0 ≥ x_1 ≥ … ≥ 1 of plan_zero_bubble: Algorithm 1 with x_0 = min(2S − 1, N, limit).
std::vector<int> initial_warmup(int stages, int microbatches, const ActivationLimit& limit = {});

/// Plans and validates; costs.stages.size() is the number of stages. Throws Error(usage) when the policy
/// cannot stay within the limit (gpipe and 1f1b hold what they hold).
PipelineSchedule plan_schedule(SchedulePolicy policy, int microbatches, const PipelineCosts& costs,
                               const ActivationLimit& limit = {});

}  // namespace tenax::parallel
