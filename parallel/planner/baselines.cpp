#include "parallel/planner/baselines.hpp"

#include <algorithm>

#include "parallel/planner/list_scheduler.hpp"

namespace tenax::parallel {
namespace {

/// `ahead` forwards, then F and BW in turn, then the rest of the BWs.
std::vector<PipelineOp> fused_stage(int ahead, int microbatches) {
  std::vector<PipelineOp> ops;
  for (int forward = 0, backward = 0; backward < microbatches; ++backward) {
    for (; forward < std::min(microbatches, backward + ahead); ++forward)
      ops.push_back({Pass::forward, forward});
    ops.push_back({Pass::backward, backward});
  }
  return ops;
}

// Lemma 1: counts never increase along the stages; a limit on one stage binds those after it.
void make_feasible(const PlanningProblem& problem, std::vector<int>& warmup) {
  int most = problem.microbatches;
  for (std::size_t s = 0; s < warmup.size(); ++s) {
    most = std::min(most, problem.most_live(static_cast<int>(s)));
    most = warmup[s] = std::clamp(warmup[s], 1, most);
  }
}

// x_i = x_{i+1} + slackness of link i, from x_{S−1} = 1. The paper floors where it must round up, and takes B of the
// stage after the link for that before it.
template <class Period>
std::vector<int> warmup_for_delays(const PlanningProblem& problem, int least_slackness, int extra,
                                   Period period_after) {
  std::vector<int> warmup(problem.times.size(), 1);
  for (std::size_t s = warmup.size() - 1; s-- > 0;) {
    const Nanoseconds round_trip =
        problem.times[s].forward + problem.times[s].backward + 2 * problem.delay[s];
    const Nanoseconds period = std::max<Nanoseconds>(1, period_after(s + 1));
    const Nanoseconds slackness =
        std::min<Nanoseconds>((round_trip + period - 1) / period, problem.microbatches);
    warmup[s] = warmup[s + 1] + std::max(0, std::max(static_cast<int>(slackness), least_slackness) + extra);
  }
  make_feasible(problem, warmup);
  return warmup;
}

}  // namespace

PipelineSchedule plan_gpipe(int stages, int microbatches) {
  return {std::vector(static_cast<std::size_t>(stages), fused_stage(microbatches, microbatches))};
}

PipelineSchedule plan_one_f_one_b(int stages, int microbatches) {
  PipelineSchedule schedule;
  for (int stage = 0; stage < stages; ++stage)
    schedule.ops_of_stage.push_back(fused_stage(stages - stage, microbatches));
  return schedule;
}

int zero_bubble_warmup(int stages, int microbatches) { return std::min(2 * stages - 1, microbatches); }

std::vector<int> initial_warmup(int stages, int microbatches, const ActivationLimit& limit) {
  const PlanningProblem timeless(microbatches, PipelineCosts::uniform(stages, {}), limit);
  return even_warmup(timeless, std::min(2 * stages - 1, timeless.most_live(0)));
}

PipelineSchedule plan_zero_bubble(int microbatches, const PipelineCosts& costs,
                                  const ActivationLimit& limit) {
  PipelineCosts healthy = costs;
  healthy.link_delay_s.clear();
  GeneratorOptions options{.warmup = initial_warmup(costs.stage_count(), microbatches, limit),
                           .limit = limit};
  // Deferring W helps nobody when no other stage waits: one stage keeps one live microbatch.
  if (costs.stage_count() == 1) options.limit.microbatches_of_stage = {1};
  return generate_schedule(microbatches, healthy, options);
}

std::vector<int> even_warmup(const PlanningProblem& problem, int first) {
  const int links = problem.stages() - 1;
  std::vector<int> warmup{first};
  for (int s = 1, even = first; s <= links; ++s) {
    even -= (first - 1) / links + (s <= (first - 1) % links ? 1 : 0);
    warmup.push_back(std::max(even, std::min(problem.stages() - s, first)));
  }
  make_feasible(problem, warmup);
  return warmup;
}

std::vector<int> adapted_warmup(const PlanningProblem& problem, int least_slackness, int extra) {
  return warmup_for_delays(problem, least_slackness, extra, [&](std::size_t s) {
    return problem.times[s].forward + problem.times[s].backward;
  });
}

std::vector<int> period_warmup(const PlanningProblem& problem, int least_slackness, int extra) {
  Nanoseconds period = 0;
  for (const StageTimes& times : problem.times) period = std::max(period, times.sum());
  return warmup_for_delays(problem, least_slackness, extra, [&](std::size_t) { return period; });
}

}  // namespace tenax::parallel
