// An action at a time: the next one is decided on when it is known what the last one achieved. First what made matters worse is
// undone, then what is not needed any more, then what is due.
#include "resilience/mitigation/mitigation.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tenax::resilience {
namespace {

/// More than this share worse than before is worse.
constexpr double kWorse = 0.02;

double median(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

bool has(const std::vector<Component>& components, const Component& one) {
  return std::any_of(components.begin(), components.end(),
                     [&](const Component& each) { return each.is_same_part(one); });
}

std::vector<int> changed_ring(const RunPlacement& before, const RunPlacement& after) {
  for (const RunPlacement* placement : {&before, &after})
    for (const auto& [group, order] : placement->ring_order)
      if (ring_of(before, group) != ring_of(after, group)) return ring_of(after, group);
  return {};
}

}  // namespace

void Mitigation::add(std::int64_t number, double seconds, bool is_masked) {
  if (iterations_.size() == kRemembered) iterations_.pop_front();
  iterations_.push_back({number, seconds});
  const bool is_any_slow = std::any_of(cases_.begin(), cases_.end(), [](const Case& c) { return c.is_slow; });
  calm_iterations_ = is_any_slow ? 0 : calm_iterations_ + 1;
  if (is_any_slow) lost_s_ += std::max(0.0, seconds - healthy_s_);
  for (Case& each : cases_) {
    each.well = each.is_slow ? 0 : each.well + 1;
    if (each.is_slow) each.rental.add_iteration(seconds, healthy_s_);
    each.damper.add(each.is_slow && each.is_acted_on);
  }
  if (!outcome_ || is_masked) return;
  outcome_->seconds.push_back(seconds);
  if (outcome_->seconds.size() == kSettled) settle();
}

Mitigation::Case* Mitigation::find(const Component& component) {
  const auto found = std::find_if(cases_.begin(), cases_.end(), [&](const Case& each) {
    return each.part.component.is_same_part(component);
  });
  return found == cases_.end() ? nullptr : &*found;
}

// A restart saves what is lost since all was healthy.
LostTime Mitigation::lost_since(std::int64_t onset) const {
  double lost_s = 0;
  for (const Iteration& iteration : iterations_)
    if (iteration.number >= onset) lost_s += std::max(0.0, iteration.seconds - healthy_s_);
  return {.since_onset_s = lost_s, .since_healthy_s = std::max(lost_s, lost_s_ - lost_before_s_)};
}

// Of a component that is told again what was lost and done before counts on.
void Mitigation::open(const FailSlow& found, const SlowPart& part, const DataGroup& group) {
  Case* known = find(part.component);
  if (!known) {
    cases_.push_back({.part = part,
                      .group = group,
                      .rental = SkiRental(options_.min_gain, lost_since(found.onset)),
                      .damper = FlapDamper({.first_hold = options_.heal_steps})});
    return;
  }
  if (!known->is_slow) known->rental = SkiRental(options_.min_gain, lost_since(found.onset));
  known->part = part;
  known->group = group;
  known->is_slow = true;
}

void Mitigation::take(const FailSlow& found, const std::vector<RankReport>& reports,
                      const parallel::ProcessGrid& grid) {
  if (found.components.empty()) return;
  healthy_s_ = found.healthy_iteration_s;
  for (const Component& component : found.components) {
    const parallel::GridCoordinates place = grid.coordinates_of(component.rank);
    open(found, slow_part(component, reports, grid), {.tensor = place.tensor, .stage = place.pipeline});
  }
  if (outcome_) outcome_->is_disturbed = true;
  is_stale_ = true;
  proposals_.clear();
}

void Mitigation::take(const Healed& healed) {
  Case* const known = find(healed.component);
  if (!known) return;
  known->is_slow = false;
  is_stale_ = true;
  proposals_.clear();
  if (slow().empty()) lost_before_s_ = lost_s_;
}

std::vector<SlowPart> Mitigation::slow() const {
  std::vector<SlowPart> parts;
  for (const Case& each : cases_)
    if (each.is_slow) parts.push_back(each.part);
  return parts;
}

double Mitigation::recent_s() const {
  std::vector<double> seconds;
  for (auto iteration = iterations_.rbegin(); iteration != iterations_.rend() && seconds.size() < kSettled;
       ++iteration)
    seconds.push_back(iteration->seconds);
  return median(seconds);
}

std::optional<Action> Mitigation::decide() {
  if (outcome_) return {};
  decided_ = undo();
  if (!decided_) decided_ = way_back();
  if (!decided_) decided_ = best_due();
  if (!decided_) return {};
  decided_->measured_s = recent_s();
  return Action{.strategy = decided_->strategy, .placement = decided_->placement};
}

std::optional<MitigationRecord> Mitigation::undo() {
  if (!regretted_) return {};
  const MitigationRecord& action = regretted_->record;
  for (Case& each : cases_)
    if (has(action.components, each.part.component)) each.rental.bar(action.strategy);
  MitigationRecord record{.strategy = action.strategy,
                          .is_revert = true,
                          .made_worse = true,
                          .components = action.components,
                          .placement = regretted_->before,
                          .lost_s = action.lost_s,
                          .expected_cost_s = costs_.seconds(action.strategy),
                          .predicted_s = action.measured_s};
  regretted_.reset();
  return record;
}

// Whether a link that is slow, or was a moment ago, would be on the group's ring.
bool Mitigation::needs_ring(const DataGroup& group) const {
  return std::any_of(cases_.begin(), cases_.end(), [&](const Case& each) {
    return is_held(each) && each.part.component.is_link() && each.group == group;
  });
}

// None: nothing was changed by the strategy, or it is still needed.
std::optional<RunPlacement> Mitigation::back_from(Strategy strategy) const {
  RunPlacement back = placement_;
  const auto any_is_held = [&](auto counts) {
    return std::any_of(cases_.begin(), cases_.end(),
                       [&](const Case& each) { return is_held(each) && counts(each); });
  };
  switch (strategy) {
    case Strategy::microbatches:
      if (!any_is_held([](const Case& each) { return !each.part.component.is_link(); }))
        back.microbatches = launch_.microbatches;
      break;
    case Strategy::ring:
      for (const auto& [group, order] : placement_.ring_order)
        if (!needs_ring(group)) {  // one at a time
          back.ring_order.erase(group);
          return back;
        }
      break;
    case Strategy::swap:
      if (any_is_held([](const Case&) { return true; }) || back.group_of_place == launch_.group_of_place)
        break;
      back.group_of_place = launch_.group_of_place;
      back.ring_order.clear();
      break;
    case Strategy::restart:
      break;
  }
  if (back == placement_) return {};
  return back;
}

// A move back wins little while all is healthy: as much as is asked of any action.
bool Mitigation::is_way_back_paid(Strategy strategy) const {
  return options_.min_gain * healthy_s_ * static_cast<double>(calm_iterations_) >= costs_.seconds(strategy) ||
         strategy != Strategy::swap;
}

std::optional<MitigationRecord> Mitigation::way_back() {
  for (const Strategy strategy : kStrategies) {
    const auto back = back_from(strategy);
    if (!back || !is_way_back_paid(strategy)) continue;
    MitigationRecord record{.strategy = strategy,
                            .is_revert = true,
                            .placement = *back,
                            .expected_cost_s = costs_.seconds(strategy),
                            .predicted_s = std::min(healthy_s_, recent_s())};
    for (const Case& each : cases_)
      if (each.is_acted_on && !is_held(each)) record.components.push_back(each.part.component);
    return record;
  }
  return {};
}

std::optional<MitigationRecord> Mitigation::best_due() {
  const Proposal* best = nullptr;
  double best_cost_s = 0, lost_s = 0;
  for (const Case& each : cases_) {
    if (!each.is_slow) continue;
    for (const Proposal& proposal : proposals_) {
      const bool changes = proposal.strategy == Strategy::restart || !(proposal.placement == placement_);
      if (!changes || !has(proposal.against, each.part.component)) continue;
      const PricedStrategy candidate{.strategy = proposal.strategy,
                                     .cost_s = costs_.seconds(proposal.strategy),
                                     .gain_s = proposal.gain_s};
      if (!each.rental.due({&candidate, 1}) || (best && best_cost_s <= candidate.cost_s)) continue;
      best = &proposal;
      best_cost_s = candidate.cost_s;
      lost_s = each.rental.lost_s(proposal.strategy);
    }
  }
  if (!best) return {};
  return MitigationRecord{.strategy = best->strategy,
                          .components = best->against,
                          .placement = best->placement,
                          .lost_s = lost_s,
                          .expected_cost_s = best_cost_s,
                          .predicted_s = recent_s() - best->gain_s};
}

void Mitigation::applied(std::int64_t first, double cost_s, std::int64_t bytes, int generation) {
  assert(decided_);
  MitigationRecord record = *std::exchange(decided_, {});
  record.step = first;
  record.cost_s = cost_s;
  record.bytes = bytes;
  record.generation = generation;
  seconds_ += cost_s;
  costs_.measure(record.strategy, cost_s);
  for (Case& each : cases_) {
    if (!has(record.components, each.part.component)) continue;
    if (!record.is_revert) each.rental.applied(record.strategy);
    each.is_acted_on = !record.is_revert;
  }
  if (record.strategy == Strategy::ring) record.ring_order = changed_ring(placement_, record.placement);
  const RunPlacement before = std::exchange(placement_, record.placement);
  outcome_ = Outcome{.record = std::move(record), .before = before};
  is_stale_ = true;
  proposals_.clear();
}

void Mitigation::failed() {
  assert(decided_);
  for (Case& each : cases_)
    if (has(decided_->components, each.part.component)) each.rental.bar(decided_->strategy);
  decided_.reset();
}

void Mitigation::settle() {
  Outcome outcome = *std::exchange(outcome_, {});
  outcome.record.achieved_s = median(outcome.seconds);
  const bool is_worse = outcome.record.achieved_s > (1 + kWorse) * outcome.record.measured_s;
  records_.push_back(outcome.record);
  if (is_worse && !outcome.record.is_revert && !outcome.is_disturbed) regretted_ = std::move(outcome);
}

std::vector<MitigationRecord> Mitigation::take_records(bool all) {
  if (all && outcome_) {
    outcome_->is_disturbed = true;
    settle();
  }
  return std::exchange(records_, {});
}

}  // namespace tenax::resilience
