// An iteration's measurement updates the forecast. While the forecast stays what the last assessment was made
// for, nothing else happens. When it moved: which links are slow, what paths they should take, and, unless
// the running schedule is within `gain` of the lower bound, whether a plan is wanted. decide() then compares
// the running schedule, the plan and the initial schedule, all by the evaluator.
#include "resilience/adaptation/adaptation_controller.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tenax::resilience {
namespace {

using parallel::PipelineCosts;
using parallel::PipelineSchedule;

// What counts as another situation: for assessing it again, and (coarser) for planning again.
constexpr double kMovedPass = 0.02, kMovedDelay = 0.1;
constexpr double kReplanPass = 0.03, kReplanDelay = 0.1;
/// The way back to the initial schedule is taken at a little less than what the way there needs.
constexpr double kReturnShare = 0.8;
/// Iterations without planning double with each plan that did not pay, to this power of two at most.
constexpr int kMaxPatience = 6;

std::vector<char> without(std::vector<char> links, int link) {
  links[static_cast<std::size_t>(link)] = 0;
  return links;
}

}  // namespace

AdaptationController::AdaptationController(int microbatches, parallel::ActivationLimit limit,
                                           PipelineSchedule initial, AdaptationSettings settings)
    : microbatches_(microbatches),
      limit_(std::move(limit)),
      settings_(std::move(settings)),
      home_(std::move(initial)),
      running_(home_),
      forecast_(home_.stages(), settings_.forecast),
      links_(static_cast<std::size_t>(home_.stages() - 1)),
      stages_(static_cast<std::size_t>(home_.stages())) {
  for (Link& link : links_) {
    link.path.delegated = settings_.paths == PathChoice::delegated_only;
    link.told = link.path;
    link.damper = FlapDamper(settings_.damping);
  }
}

void AdaptationController::observe(std::int64_t step, const PipelineMeasurement& measurement,
                                   const std::vector<LinkCondition>& links) {
  assert(links.size() == links_.size());
  settle(step, measurement.iteration_s);
  step_ = step;
  iteration_s_ = measurement.iteration_s;
  assessed_now_ = false;
  for (std::size_t index = 0; index < links_.size(); ++index) {
    Link& link = links_[index];
    link.condition = links[index];
    if (link.condition.just_broke()) link.path.delegated = true;  // a fact, not a choice
  }
  if (observed_++ < settings_.skipped_iterations) return;
  forecast_.add(without_copies(measurement));
  if (forecast_.changed()) {
    fruitless_plans_ = 0;
    quiet_until_ = step;
  }
  if (something_moved()) assess(measurement);
  damp_flapping();
}

void AdaptationController::settle(std::int64_t step, double iteration_s) {
  const auto open = std::stable_partition(unsettled_.begin(), unsettled_.end(),
                                          [&](const AdaptationEvent& event) { return event.step < step; });
  for (auto event = unsettled_.begin(); event != open; ++event) {
    event->achieved_s = iteration_s;
    settled_.push_back(*event);
  }
  unsettled_.erase(unsettled_.begin(), open);
}

bool AdaptationController::something_moved() const {
  const bool patience_ends = fruitless_plans_ > 0 && step_ == quiet_until_;
  if (!assessed_ || patience_ends) return true;
  for (const Link& link : links_) {
    const bool healing = link.slow && link.healthy_iterations > 0;
    const bool rescued = link.condition.direct_usable && link.path.delegated && !link.slow &&
                         settings_.paths == PathChoice::automatic && !link.damper.holds();
    if (healing || rescued || link.condition.just_broke()) return true;
  }
  return differ_materially(forecast_.costs(), *assessed_, kMovedPass, kMovedDelay,
                           forecast_.material_s_of_link());
}

void AdaptationController::assess(const PipelineMeasurement& measurement) {
  compare_with_evaluator(measurement);
  const PipelineCosts costs = forecast_.costs();
  assessed_ = costs;
  assessed_now_ = true;
  find_slow_links(costs);
  find_slow_stages();
  choose_paths(costs);
  wants_plan_ = plan_may_pay();
}

// Entering: the link as it is run now costs `gain` of an iteration. Leaving: run directly under the initial
// schedule, as it will be, it costs less than half of that.
void AdaptationController::find_slow_links(const PipelineCosts& costs) {
  const std::vector<char> delegated = delegated_links();
  for (int index = 0; index < forecast_.links(); ++index) {
    Link& link = links_[static_cast<std::size_t>(index)];
    const bool material = forecast_.delay_s(index) > forecast_.material_s(index);
    const PipelineSchedule& schedule = link.slow ? home_ : running_;
    const bool slow =
        material && makes_slow(schedule, costs, index, link.slow ? without(delegated, index) : delegated);
    link.healthy_iterations = slow || !link.slow ? 0 : link.healthy_iterations + 1;
    if (slow) link.slow = true;
    if (link.healthy_iterations >= settings_.healing_iterations) link.slow = false;
  }
}

// By itself, or on top of what the other links cost.
bool AdaptationController::makes_slow(const PipelineSchedule& schedule, const PipelineCosts& costs, int link,
                                      const std::vector<char>& delegated) const {
  const auto index = static_cast<std::size_t>(link);
  PipelineCosts none = costs, alone = costs, others = costs;
  none.link_delay_s.assign(costs.link_delay_s.size(), 0.0);
  alone.link_delay_s = none.link_delay_s;
  alone.link_delay_s[index] = costs.link_delay_s[index];
  others.link_delay_s[index] = 0;
  const double share = links_[index].slow ? 0.5 : 1;
  const auto time_s = [&](const PipelineCosts& of) {
    return predict_s(schedule, of, settings_.direct, delegated);
  };
  const auto costs_much = [&](double with_s, double without_s) {
    return with_s > without_s + share * least_gain_s(without_s);
  };
  return costs_much(time_s(alone), time_s(none)) || costs_much(time_s(costs), time_s(others));
}

// A stage is slow when it has become slower than it was, and more so than the others: a machine that is slow
// as a whole needs no other schedule.
void AdaptationController::find_slow_stages() {
  constexpr double kEnter = 1.2, kLeave = 1.1;
  std::vector<double> slowdown;
  for (std::size_t index = 0; index < stages_.size(); ++index) {
    const double now_s = forecast_.stage_s(static_cast<int>(index));
    double& normal_s = stages_[index].normal_s;
    normal_s = normal_s > 0 ? std::min(normal_s, now_s) : now_s;
    slowdown.push_back(normal_s > 0 ? now_s / normal_s : 1);
  }
  std::vector<double> sorted = slowdown;
  std::sort(sorted.begin(), sorted.end());
  const double common = sorted[(sorted.size() - 1) / 2];
  for (std::size_t index = 0; index < stages_.size(); ++index) {
    Stage& stage = stages_[index];
    const bool was_slow = stage.slow;
    const double lost_s = microbatches_ * (slowdown[index] - common) * stage.normal_s;
    stage.slow = slowdown[index] > (stage.slow ? kLeave : kEnter) * common &&
                 (stage.slow || lost_s > least_gain_s(iteration_s_));
    if (stage.slow != was_slow) stage.changed_at = step_;
    if (!stage.slow && step_ - stage.changed_at >= kLasting) stage.reported = false;
  }
}

bool AdaptationController::plan_may_pay() const {
  if (!settings_.reschedule || planning_ || links_.empty() || step_ < quiet_until_) return false;
  const PipelineCosts costs = with_overheads(forecast_.costs());
  if (planned_ &&
      !differ_materially(costs, *planned_, kReplanPass, kReplanDelay, forecast_.material_s_of_link()))
    return false;
  const double bound_s = parallel::makespan_lower_bound_s(microbatches_, costs, limit_);
  return make_scorer().mean_s(running_) > bound_s + least_gain_s(bound_s);
}

parallel::PlanRequest AdaptationController::request() {
  planned_ = with_overheads(forecast_.costs());
  planning_ = true;
  wants_plan_ = false;
  return {.microbatches = microbatches_,
          .costs = *planned_,
          .limit = limit_,
          .budget = settings_.budget,
          .seed = settings_.seed};
}

AdaptationDecision AdaptationController::decide(const parallel::Plan* plan) {
  AdaptationDecision decision;
  std::swap(decision.achieved, settled_);
  if (plan) {
    parallel::validate(plan->schedule, microbatches_, limit_);
    planning_ = false;
    assessed_.reset();  // what moved while the plan was made is looked at next time
  }
  if (forecast_.known() && (assessed_now_ || plan)) {
    const ScheduleScorer scorer = make_scorer();
    const PipelineSchedule& best = best_schedule(scorer, plan);
    const bool pays = !(best == running_);
    if (plan && !pays) quiet_until_ = step_ + (1 << std::min(++fruitless_plans_, kMaxPatience));
    if (plan && pays) fruitless_plans_ = 0;
    if (pays) decision.schedule = running_ = PipelineSchedule(best);
    const double mean_s = scorer.mean_s(running_);
    predicted_s_ = std::isfinite(mean_s) ? mean_s : 0;
  }
  decision.predicted_s = predicted_s_;
  report_stragglers(decision.events);
  report_paths(decision.events);
  if (decision.schedule) report_schedule(decision.events);
  unsettled_.insert(unsettled_.end(), decision.events.begin(), decision.events.end());
  for (const Link& link : links_) decision.links.push_back(link.path);
  return decision;
}

const PipelineSchedule& AdaptationController::best_schedule(const ScheduleScorer& scorer,
                                                            const parallel::Plan* plan) const {
  const double running_s = scorer.mean_s(running_);
  const PipelineSchedule* best = &running_;
  double best_s = running_s;
  if (plan && settings_.reschedule) {
    const double plan_s = scorer.mean_s(plan->schedule);
    if (plan_s + least_gain_s(plan_s) < running_s) {
      best = &plan->schedule;
      best_s = plan_s;
    }
  }
  if (running_ == home_ && best == &running_) return running_;
  const double home_s = scorer.mean_s(home_);
  const bool returns = healthy() ? home_s <= best_s + kReturnShare * least_gain_s(best_s)
                                 : home_s + least_gain_s(home_s) < best_s;
  return returns ? home_ : *best;
}

}  // namespace tenax::resilience
