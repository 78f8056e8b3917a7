// An iteration's measurement updates the forecast. While the forecast stays what the last assessment was made
// for, nothing else happens. When it moved: which links are slow, what paths they should take, and, unless
// the running schedule is near the lower bound, whether a plan is wanted. decide() then compares
// the running schedule, the plan and the initial schedule, all by the evaluator.
#include "resilience/adaptation/adaptation_controller.hpp"

#include <algorithm>
#include <cmath>

namespace tenax::resilience {

using parallel::PipelineCosts;

AdaptationController::AdaptationController(int microbatches, parallel::ActivationLimit limit,
                                           parallel::PipelineSchedule initial, AdaptationSettings settings)
    : settings_(std::move(settings)),
      forecast_(initial.stages(), settings_.forecast),
      link_health_(forecast_.links()),
      stage_health_(initial.stages(), microbatches),
      paths_(forecast_.links(), microbatches, settings_),
      replan_(microbatches, std::move(limit), std::move(initial), settings_) {}

void AdaptationController::set_microbatches(int microbatches, parallel::PipelineSchedule home) {
  stage_health_.set_microbatches(microbatches);
  paths_.set_microbatches(microbatches);
  replan_.set_microbatches(microbatches, std::move(home));
  assessed_.reset();
  wants_plan_ = false;
}

void AdaptationController::observe(std::int64_t step, const PipelineMeasurement& measurement,
                                   const std::vector<LinkCondition>& links) {
  settle(step, measurement.iteration_s);
  step_ = step;
  iteration_s_ = measurement.iteration_s;
  assessed_now_ = false;
  paths_.observe(links);
  if (observed_++ < settings_.skipped_iterations) return;
  forecast_.add(paths_.without_copies(measurement));
  if (forecast_.changed()) replan_.end_patience(step);
  calm_ = forecast_.changed() ? 0 : calm_ + 1;
  compare_with_evaluator(measurement);
  if (something_moved()) assess();
  paths_.damp(link_health_);
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

bool AdaptationController::moved_since(const PipelineCosts& before, const PipelineCosts& now) const {
  constexpr double kMovedPass = 0.02, kMovedDelay = 0.1;
  return differ_materially(now, before, kMovedPass, kMovedDelay, forecast_.material_s_of_link());
}

bool AdaptationController::something_moved() const {
  if (!assessed_ || replan_.patience_ends(step_)) return true;
  // What was no gain while more was unexplained may be one now.
  if (std::abs(threshold_.unexplained_s() - assessed_unexplained_s_) > threshold_.least_gain_s(iteration_s_))
    return true;
  for (std::size_t link = 0; link < paths_.chosen().size(); ++link)
    if (paths_.may_return(link, link_health_) || paths_.just_broke(link)) return true;
  return moved_since(*assessed_, forecast_.costs());
}

void AdaptationController::assess() {
  assessed_ = forecast_.costs();
  assessed_unexplained_s_ = threshold_.unexplained_s();
  assessed_now_ = true;
  const Situation situation{.forecast = forecast_,
                            .costs = *assessed_,
                            .running = running(),
                            .home = replan_.home(),
                            .direct = settings_.direct,
                            .threshold = threshold_};
  link_health_.assess(situation, paths_.delegated());
  stage_health_.assess(step_, iteration_s_, forecast_, threshold_);
  paths_.choose(situation, link_health_);
  for (std::size_t link = 0; link < paths_.chosen().size(); ++link)
    if (!link_health_.is_straggler(link) && !paths_.holds(link)) link_health_.forget_report(link);
  wants_plan_ = replan_.may_pay(step_, expected_costs(), scorer(), forecast_, threshold_);
}

void AdaptationController::compare_with_evaluator(const PipelineMeasurement& measurement) {
  if (paths_.any_just_broke()) return;  // the next iteration will not be like this one
  PipelineCosts costs = forecast_.costs();
  costs.stages.clear();
  for (const StageMeasurement& stage : measurement.stages)
    costs.stages.push_back(
        {stage.passes.forward_s, stage.passes.backward_input_s, stage.passes.backward_weight_s});
  std::vector<char> delegated;
  for (std::size_t link = 0; link < costs.link_delay_s.size(); ++link) {
    delegated.push_back(paths_.was_delegated(link));
    double delay_s = 0;
    for (const LinkMeasurement& direction : {measurement.down(link), measurement.up(link)})
      if (direction.samples > 0 && !direction.at_most)
        delay_s = std::max(delay_s, direction.delay_s + (delegated.back() ? direction.overhead_s : 0));
    if (delay_s > 0) costs.link_delay_s[link] = delay_s;
  }
  threshold_.add(measurement.iteration_s, predict_s(running(), costs, settings_.direct, delegated));
}

bool AdaptationController::is_healthy() const {
  return !link_health_.any_is_slow() && !paths_.any_is_held() && !stage_health_.any_is_slow();
}

PipelineCosts AdaptationController::expected_costs() const {
  return paths_.with_overheads(forecast_.costs(), forecast_);
}

// A link that keeps changing has no lasting delay: rows go on bending there.
PipelineCosts AdaptationController::lasting_costs() const {
  PipelineCosts costs = expected_costs();
  for (int link = 0; told_ && link < forecast_.links(); ++link)
    if (forecast_.is_restless(link))
      costs.link_delay_s[static_cast<std::size_t>(link)] = told_->delay_s(link);
  return costs;
}

// Of the schedule that stays. A delay that has just begun makes rows bend, until it has lasted or a plan for it has come.
bool AdaptationController::renews_costs() const {
  constexpr int kLasting = 3;  // iterations
  if (!forecast_.known() || calm_ < kLasting || wants_plan_ || replan_.awaits_plan()) return false;
  return !told_ || moved_since(*told_, lasting_costs());
}

ScheduleScorer AdaptationController::scorer() const {
  std::vector<PipelineCosts> scenarios = forecast_.scenarios();
  for (PipelineCosts& costs : scenarios) costs = paths_.with_overheads(std::move(costs), forecast_);
  return {std::move(scenarios), settings_.direct, paths_.delegated()};
}

parallel::PlanRequest AdaptationController::request() {
  wants_plan_ = false;
  return replan_.request(expected_costs());
}

void AdaptationController::retract_request() {
  wants_plan_ = true;
  replan_.retract_request();
}

AdaptationDecision AdaptationController::decide(const parallel::Plan* plan) {
  AdaptationDecision decision;
  std::swap(decision.achieved, settled_);
  if (plan) {
    replan_.receive(*plan);
    assessed_.reset();  // what moved while the plan was made is looked at next time
  }
  if (forecast_.known() && (assessed_now_ || plan)) {
    const ScheduleScorer scores = scorer();
    decision.schedule = replan_.choose(step_, scores, threshold_, is_healthy(), plan);
    const double mean_s = scores.mean_s(running());
    predicted_s_ = std::isfinite(mean_s) ? mean_s : 0;
  }
  if (decision.schedule) told_ = decision.costs = expected_costs();
  if (!decision.schedule && renews_costs()) told_ = decision.costs = lasting_costs();
  decision.predicted_s = predicted_s_;
  decision.events = events(decision.schedule.has_value());
  unsettled_.insert(unsettled_.end(), decision.events.begin(), decision.events.end());
  decision.links = paths_.chosen();
  return decision;
}

std::vector<AdaptationEvent> AdaptationController::events(bool is_rescheduled) {
  const AdaptationEvent now{.step = step_, .before_s = iteration_s_, .predicted_s = predicted_s_};
  std::vector<AdaptationEvent> events;
  link_health_.report(now, forecast_, events);
  stage_health_.report(now, forecast_, events);
  paths_.report(now, forecast_, events);
  if (is_rescheduled) report_schedule(now, events);
  return events;
}

// For the slowest link, where its delay matters.
void AdaptationController::report_schedule(AdaptationEvent now, std::vector<AdaptationEvent>& events) const {
  now.kind = AdaptationKind::reschedule;
  int slowest = 0;
  for (int link = 1; link < forecast_.links(); ++link)
    if (forecast_.delay_s(link) > forecast_.delay_s(slowest)) slowest = link;
  if (forecast_.links() > 0 && forecast_.delay_s(slowest) > forecast_.material_s(slowest)) {
    now.link = slowest;
    now.delay_s = forecast_.delay_s(slowest);
  }
  events.push_back(now);
}

}  // namespace tenax::resilience
