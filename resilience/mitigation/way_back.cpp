#include "resilience/mitigation/way_back.hpp"

#include <algorithm>
#include <vector>

namespace tenax::resilience {

std::optional<MitigationRecord> WayBack::next(const RunPlacement& now, const SlowCases& cases,
                                              const ActionCosts& costs, const IterationLoss& loss) const {
  for (const Strategy strategy : kStrategies) {
    if (const auto pause = pauses_.find(strategy); pause != pauses_.end() && !pause->second.is_over())
      continue;
    const auto back = back_from(strategy, now, cases);
    if (!back || !is_paid(strategy, costs, loss.healthy_s())) continue;
    MitigationRecord record{.strategy = strategy,
                            .is_revert = true,
                            .placement = *back,
                            .predicted_s = std::min(loss.healthy_s(), loss.recent_s())};
    add_what_it_was_for(record, now, cases);
    record.expected_cost_s = std::min(costs.seconds(strategy), record.lost_s);
    return record;
  }
  return {};
}

// None: nothing was changed by the strategy, or it is still needed.
std::optional<RunPlacement> WayBack::back_from(Strategy strategy, const RunPlacement& now,
                                               const SlowCases& cases) const {
  RunPlacement back = now;
  const auto any_is_held = [&](auto counts) {
    return std::any_of(cases.all().begin(), cases.all().end(),
                       [&](const SlowCase& each) { return cases.is_held(each) && counts(each); });
  };
  switch (strategy) {
    case Strategy::microbatches:
      if (!any_is_held([](const SlowCase& each) { return !each.part.component.is_link(); }))
        back.microbatches = launch_.microbatches;
      break;
    case Strategy::ring:
      for (const auto& [group, order] : now.ring_order)
        if (!needs_ring(group, now, cases)) {  // one at a time
          back.ring_order.erase(group);
          return back;
        }
      break;
    case Strategy::swap:
      if (any_is_held([](const SlowCase&) { return true; }) || back.group_of_place == launch_.group_of_place)
        break;
      back.group_of_place = launch_.group_of_place;
      back.ring_order.clear();
      break;
    case Strategy::restart:
      break;
  }
  if (back == now) return {};
  return back;
}

// Whether a link that is slow, or was a moment ago, would be on the group's ring.
bool WayBack::needs_ring(const DataGroup& group, const RunPlacement& now, const SlowCases& cases) const {
  return std::any_of(cases.all().begin(), cases.all().end(), [&](const SlowCase& each) {
    const Component& link = each.part.component;
    return cases.is_held(each) && link.is_link() && link.group == parallel::GroupKind::data &&
           data_group_of(link, now, shape_) == group;
  });
}

// A move back wins little while all is healthy: as much as is asked of any action, and this share of an iteration at the least.
bool WayBack::is_paid(Strategy strategy, const ActionCosts& costs, double healthy_s) const {
  constexpr double kLeastGain = 0.02;
  if (strategy != Strategy::swap) return true;
  const double gain_s = std::max(min_gain_, kLeastGain) * healthy_s;
  return gain_s * static_cast<double>(calm_iterations_) >= costs.seconds(strategy);
}

// The components, and the loss that bought it.
void WayBack::add_what_it_was_for(MitigationRecord& record, const RunPlacement& now,
                                  const SlowCases& cases) const {
  const std::vector<DataGroup> rings = changed_rings(now, record.placement);
  for (const SlowCase& each : cases.all()) {
    const Component& component = each.part.component;
    const auto bought = each.acted_on.find(record.strategy);
    if (bought == each.acted_on.end() || cases.is_held(each)) continue;
    if (record.strategy == Strategy::ring && data_group_of(component, now, shape_) != rings.front()) continue;
    record.components.push_back(component);
    record.lost_s = std::max(record.lost_s, bought->second);
  }
}

void WayBack::add(bool is_any_slow) {
  calm_iterations_ = is_any_slow ? 0 : calm_iterations_ + 1;
  for (auto& [strategy, pause] : pauses_) is_any_slow ? pause.begin_again() : pause.add();
}

}  // namespace tenax::resilience
