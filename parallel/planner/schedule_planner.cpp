#include "parallel/planner/schedule_planner.hpp"

#include <algorithm>

#include "parallel/planner/baselines.hpp"
#include "parallel/planner/list_scheduler.hpp"
#include "parallel/planner/lower_bound.hpp"
#include "parallel/planner/schedule_search.hpp"
#include "parallel/schedule/timeline.hpp"

namespace tenax::parallel {

Plan plan_adaptive(const PlanRequest& request) {
  BudgetMeter budget(request.budget);
  const PlanningProblem problem(request.microbatches, request.costs, request.limit);
  const Nanoseconds bound = lower_bound(problem);
  ScheduleSearch search(problem, budget, request.seed, bound);
  // The baselines come first, so that however small the budget the plan is never worse than they are.
  search.offer(order_of(plan_zero_bubble(request.microbatches, request.costs, request.limit), problem));
  search.offer(order_of(plan_gpipe(problem.stages(), request.microbatches), problem));
  search.offer(order_of(plan_one_f_one_b(problem.stages(), request.microbatches), problem));
  search.run();
  Plan plan;
  plan.schedule = schedule_of(search.best().order, problem.stages());
  plan.makespan_s = simulate(plan.schedule, request.costs).makespan_s;
  plan.lower_bound_s = std::min(to_seconds(bound), plan.makespan_s);
  plan.optimal = meets_bound(plan.makespan_s, plan.lower_bound_s);
  return plan;
}

PipelineSchedule plan_initial(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit) {
  const PipelineSchedule baseline = plan_zero_bubble(microbatches, costs, limit);
  if (costs.stage_count() == 1) return baseline;
  PipelineCosts healthy = costs;
  healthy.link_delay_s.clear();
  const PlanningProblem problem(microbatches, healthy, limit);
  const double allowed_s = simulate(baseline, healthy).makespan_s;
  // Strict alternation rarely costs anything at zero delay. Where it does, less slackness is tried, by halves.
  for (int first = problem.most_live(0), least = 2 * problem.stages() - 1; first > least;
       first = least + (first - least) / 2) {
    PipelineSchedule schedule =
        generate_schedule(microbatches, healthy, {.warmup = even_warmup(problem, first), .limit = limit});
    if (meets_bound(simulate(schedule, healthy).makespan_s, allowed_s)) return schedule;
  }
  return baseline;
}

}  // namespace tenax::parallel
