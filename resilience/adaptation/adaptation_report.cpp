// AdaptationController: its events, and what it derives from its state.
#include <algorithm>
#include <cassert>

#include "resilience/adaptation/adaptation_controller.hpp"

namespace tenax::resilience {

bool AdaptationController::healthy() const {
  return std::none_of(links_.begin(), links_.end(),
                      [](const Link& link) { return link.slow || link.damper.holds(); }) &&
         std::none_of(stages_.begin(), stages_.end(), [](const Stage& stage) { return stage.slow; });
}

std::vector<char> AdaptationController::delegated_links() const {
  std::vector<char> delegated;
  for (const Link& link : links_) delegated.push_back(link.path.delegated);
  return delegated;
}

parallel::PipelineCosts AdaptationController::with_overheads(parallel::PipelineCosts costs) const {
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!links_[link].path.delegated) continue;
    const bool measured = links_[link].condition.delegated;
    costs.link_delay_s[link] +=
        measured ? forecast_.overhead_s(static_cast<int>(link)) : settings_.delegate_overhead_s;
  }
  return costs;
}

ScheduleScorer AdaptationController::make_scorer() const {
  std::vector<parallel::PipelineCosts> scenarios = forecast_.scenarios();
  for (parallel::PipelineCosts& costs : scenarios) costs = with_overheads(std::move(costs));
  return {std::move(scenarios), settings_.direct, delegated_links()};
}

void AdaptationController::report_stragglers(std::vector<AdaptationEvent>& events) {
  for (std::size_t index = 0; index < links_.size(); ++index) {
    Link& link = links_[index];
    const double delay_s = forecast_.delay_s(static_cast<int>(index));
    // Reported again when it has become much slower still.
    if (!link.slow || delay_s <= 2 * link.reported_s) continue;
    link.reported_s = delay_s;
    events.push_back({.kind = AdaptationKind::straggler,
                      .step = step_,
                      .link = static_cast<int>(index),
                      .delay_s = delay_s,
                      .before_s = iteration_s_,
                      .predicted_s = predicted_s_});
  }
  for (std::size_t index = 0; index < stages_.size(); ++index) {
    Stage& stage = stages_[index];
    if (!stage.slow || stage.reported || step_ - stage.changed_at < kLasting) continue;
    stage.reported = true;
    events.push_back({.kind = AdaptationKind::straggler,
                      .step = step_,
                      .stage = static_cast<int>(index),
                      .delay_s = forecast_.stage_s(static_cast<int>(index)) - stage.normal_s,
                      .before_s = iteration_s_,
                      .predicted_s = predicted_s_});
  }
}

void AdaptationController::report_paths(std::vector<AdaptationEvent>& events) {
  for (std::size_t index = 0; index < links_.size(); ++index) {
    Link& link = links_[index];
    const bool changes = link.path.delegated != link.condition.delegated;
    link.told = link.path;
    if (!changes) continue;
    events.push_back({.kind = link.path.delegated ? AdaptationKind::delegate : AdaptationKind::direct,
                      .step = step_,
                      .link = static_cast<int>(index),
                      .delay_s = forecast_.delay_s(static_cast<int>(index)),
                      .before_s = iteration_s_,
                      .predicted_s = predicted_s_,
                      .direct_messages = link.condition.direct_messages,
                      .delegated_messages = link.condition.delegated_messages,
                      .hold_steps = link.path.delegated ? link.damper.hold_of_departure() : 0});
  }
}

void AdaptationController::report_schedule(std::vector<AdaptationEvent>& events) const {
  const auto delay_s = [&](int link) { return forecast_.delay_s(link); };
  int slowest = links_.empty() ? -1 : 0;
  for (int link = 1; link < forecast_.links(); ++link)
    if (delay_s(link) > delay_s(slowest)) slowest = link;
  const bool material = slowest >= 0 && delay_s(slowest) > forecast_.material_s(slowest);
  events.push_back({.kind = AdaptationKind::reschedule,
                    .step = step_,
                    .link = material ? slowest : -1,
                    .delay_s = material ? delay_s(slowest) : 0,
                    .before_s = iteration_s_,
                    .predicted_s = predicted_s_});
}

}  // namespace tenax::resilience
