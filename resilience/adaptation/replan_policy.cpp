#include "resilience/adaptation/replan_policy.hpp"

#include <algorithm>

namespace tenax::resilience {

using parallel::PipelineCosts;
using parallel::PipelineSchedule;

ReplanPolicy::ReplanPolicy(int microbatches, parallel::ActivationLimit limit, PipelineSchedule home,
                           const AdaptationSettings& settings)
    : microbatches_(microbatches),
      limit_(std::move(limit)),
      reschedules_(settings.reschedule),
      budget_(settings.budget),
      seed_(settings.seed),
      home_(std::move(home)),
      running_(home_) {}

void ReplanPolicy::set_microbatches(int microbatches, PipelineSchedule home) {
  microbatches_ = microbatches;
  home_ = std::move(home);
  running_ = home_;
  planned_.reset();
  is_awaited_ = false;
  fruitless_plans_ = 0;
}

void ReplanPolicy::end_patience(std::int64_t step) {
  fruitless_plans_ = 0;
  quiet_until_ = step;
}

bool ReplanPolicy::may_pay(std::int64_t step, const PipelineCosts& costs, const ScheduleScorer& scorer,
                           const PipelineForecast& forecast, const GainThreshold& threshold) const {
  constexpr double kReplanPass = 0.03, kReplanDelay = 0.1;
  if (!reschedules_ || is_awaited_ || home_.stages() == 1 || step < quiet_until_) return false;
  if (planned_ &&
      !differ_materially(costs, *planned_, kReplanPass, kReplanDelay, forecast.material_s_of_link()))
    return false;
  const double bound_s = parallel::makespan_lower_bound_s(microbatches_, costs, limit_);
  return scorer.mean_s(running_) > bound_s + threshold.least_gain_s(bound_s);
}

parallel::PlanRequest ReplanPolicy::request(const PipelineCosts& costs) {
  planned_ = costs;
  is_awaited_ = true;
  return {.microbatches = microbatches_, .costs = costs, .limit = limit_, .budget = budget_, .seed = seed_};
}

void ReplanPolicy::retract_request() {
  planned_.reset();
  is_awaited_ = false;
}

void ReplanPolicy::receive(const parallel::Plan& plan) {
  parallel::validate(plan.schedule, microbatches_, limit_);
  is_awaited_ = false;
}

std::optional<PipelineSchedule> ReplanPolicy::choose(std::int64_t step, const ScheduleScorer& scorer,
                                                     const GainThreshold& threshold, bool is_healthy,
                                                     const parallel::Plan* plan) {
  /// Iterations without planning double with each plan that did not pay, to this power of two at most.
  constexpr int kMaxPatience = 6;
  const PipelineSchedule& chosen = best(scorer, threshold, is_healthy, plan);
  const bool pays = !(chosen == running_);
  if (plan && !pays) quiet_until_ = step + (1 << std::min(++fruitless_plans_, kMaxPatience));
  if (plan && pays) fruitless_plans_ = 0;
  if (!pays) return {};
  return running_ = PipelineSchedule(chosen);
}

const PipelineSchedule& ReplanPolicy::best(const ScheduleScorer& scorer, const GainThreshold& threshold,
                                           bool is_healthy, const parallel::Plan* plan) const {
  /// The way back to the initial schedule is taken at a little less than what the way there needs.
  constexpr double kReturnShare = 0.8;
  const double running_s = scorer.mean_s(running_);
  const PipelineSchedule* best = &running_;
  double best_s = running_s;
  if (plan && reschedules_) {
    const double plan_s = scorer.mean_s(plan->schedule);
    if (plan_s + threshold.least_gain_s(plan_s) < running_s) {
      best = &plan->schedule;
      best_s = plan_s;
    }
  }
  if (running_ == home_ && best == &running_) return running_;
  const double home_s = scorer.mean_s(home_);
  const bool returns = is_healthy ? home_s <= best_s + kReturnShare * threshold.least_gain_s(best_s)
                                  : home_s + threshold.least_gain_s(home_s) < best_s;
  return returns ? home_ : *best;
}

}  // namespace tenax::resilience
