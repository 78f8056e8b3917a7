// SchedulePolicy: one way to order a pipeline's passes, by the name that decks use. A new one is a
// function that plans it and a row in schedule_policy.cpp (and its word in io/deck/choice).
//
// Pure and deterministic: equal arguments give equal schedules on every rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

struct SchedulePolicy {
  std::string name;
  PipelineSchedule (*plan)(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit);
  /// How many live microbatches a stage has a use for where memory holds `fits`.
  std::int64_t (*useful_live)(std::int64_t fits, int stages, int microbatches);
  /// plan() stays within any limit ≥ 1; else it holds what it holds, and a smaller limit is an
  /// error.
  bool keeps_any_limit = false;
  /// Neighbours post a send and a receive together, as batched point-to-point calls do.
  bool pairs_messages = false;
  /// Planned again when links get slow, and an op goes ahead of one whose input is late.
  bool follows_delays = false;
};

const std::vector<SchedulePolicy>& schedule_policies();
/// Throws Error(usage) for a name of none.
const SchedulePolicy& policy_of_name(const std::string& name);

/// Plans and validates; costs.stages.size() is the number of stages. Throws Error(usage) when the
/// policy cannot stay within the limit.
PipelineSchedule plan_schedule(const SchedulePolicy& policy, int microbatches, const PipelineCosts& costs,
                               const ActivationLimit& limit = {});

}  // namespace tenax::parallel
