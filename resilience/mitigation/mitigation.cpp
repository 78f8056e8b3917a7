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
/// An iteration that takes so many times what was predicted has more to it than an inexact forecast.
constexpr double kDoubtful = 1.1;
/// A part that is told again with up to so many times its factor has become no slower.
constexpr double kSlower = 1.1;
/// Of an iteration: what a move back is taken to win at the least.
constexpr double kLeastGain = 0.02;
/// Iterations of calm before a way back that failed is tried again.
constexpr std::int64_t kFirstPause = 20, kLongestPause = 640;

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

// The group whose ring differs.
std::optional<DataGroup> changed_ring(const RunPlacement& before, const RunPlacement& after) {
  for (const RunPlacement* placement : {&before, &after})
    for (const auto& [group, order] : placement->ring_order)
      if (ring_of(before, group) != ring_of(after, group)) return group;
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
    each.damper.add(each.is_slow && !each.acted_on.empty());
  }
  if (!outcome_ || is_masked) return;
  outcome_->seconds.push_back(seconds);
  if (outcome_->seconds.size() == kSettled) settle();
}

const Mitigation::Case* Mitigation::find(const Component& component) const {
  const auto found = std::find_if(cases_.begin(), cases_.end(), [&](const Case& each) {
    return each.part.component.is_same_part(component);
  });
  return found == cases_.end() ? nullptr : &*found;
}

Mitigation::Case* Mitigation::find(const Component& component) {
  return const_cast<Case*>(std::as_const(*this).find(component));
}

// A restart saves what is lost since all was healthy.
LostTime Mitigation::lost_since(std::int64_t onset) const {
  double lost_s = 0;
  for (const Iteration& iteration : iterations_)
    if (iteration.number >= onset) lost_s += std::max(0.0, iteration.seconds - healthy_s_);
  return {.since_onset_s = lost_s, .since_healthy_s = std::max(lost_s, lost_s_ - lost_before_s_)};
}

// Of a component that is told again what was lost and done before counts on.
void Mitigation::open(const FailSlow& found, const SlowPart& part) {
  Case* known = find(part.component);
  if (!known) {
    cases_.push_back({.part = part,
                      .rental = SkiRental(options_.min_gain, lost_since(found.onset)),
                      .damper = FlapDamper({.first_hold = options_.heal_steps})});
    return;
  }
  if (!known->is_slow) known->rental.begin_again(lost_since(found.onset));
  known->part = part;
  known->is_slow = true;
}

// A part that is known and has become no slower is none, and neither is a moved link.
bool Mitigation::is_news(const Component& component) const {
  const Case* const known = find(component);
  const bool is_known = known && known->is_slow && component.factor <= kSlower * known->part.component.factor;
  return !is_known && !is_moved_link(component);
}

// A slow link that carries another group's messages since ranks have changed places: that is what was done.
bool Mitigation::is_moved_link(const Component& component) const {
  return component.is_link() && std::any_of(cases_.begin(), cases_.end(), [&](const Case& each) {
           const Component& known = each.part.component;
           return each.is_slow && known.is_link() && known.rank == component.rank &&
                  known.other == component.other && known.group != component.group;
         });
}

void Mitigation::take(const FailSlow& found, const std::vector<RankReport>& reports,
                      const parallel::ProcessGrid& grid) {
  if (found.components.empty()) return;
  const bool was_well = slow().empty();
  const bool is_disturbed = std::any_of(found.components.begin(), found.components.end(),
                                        [&](const Component& each) { return is_news(each); });
  healthy_s_ = found.healthy_iteration_s;
  for (const Component& component : found.components) open(found, slow_part(component, reports, grid));
  if (was_well) lost_s_ += lost_since(found.onset).since_onset_s;
  if (is_disturbed) {
    if (outcome_) outcome_->is_disturbed = true;
    regretted_.reset();
  }
  is_stale_ = true;
  proposals_.clear();
}

// What was done was enough for a slower part: less of it may be better now.
void Mitigation::take(const Eased& eased, const std::vector<RankReport>& reports,
                      const parallel::ProcessGrid& grid) {
  Case* const known = find(eased.component);
  if (!known) return;
  Component component = known->part.component;
  component.factor = eased.component.factor;
  known->part = slow_part(component, reports, grid);
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

std::optional<Action> Mitigation::decide(bool is_inquired) {
  if (outcome_ || (regretted_ && is_inquired)) return {};
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
                          .expected_cost_s = std::min(costs_.seconds(action.strategy), action.lost_s),
                          .predicted_s = action.measured_s};
  regretted_.reset();
  return record;
}

// Where it is now: whole tensor groups move.
DataGroup Mitigation::group_of(const Component& link) const {
  const auto& groups = placement_.group_of_place;
  const auto place = std::find(groups.begin(), groups.end(), link.rank / options_.shape.tensor);
  return {.tensor = link.rank % options_.shape.tensor,
          .stage = static_cast<int>(place - groups.begin()) / options_.shape.data};
}

// Whether a link that is slow, or was a moment ago, would be on the group's ring.
bool Mitigation::needs_ring(const DataGroup& group) const {
  return std::any_of(cases_.begin(), cases_.end(), [&](const Case& each) {
    const Component& link = each.part.component;
    return is_held(each) && link.is_link() && link.group == parallel::GroupKind::data &&
           group_of(link) == group;
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
  if (strategy != Strategy::swap) return true;
  const double gain_s = std::max(options_.min_gain, kLeastGain) * healthy_s_;
  return gain_s * static_cast<double>(calm_iterations_) >= costs_.seconds(strategy);
}

std::optional<MitigationRecord> Mitigation::way_back() {
  if (calm_iterations_ < way_back_pause_) return {};
  for (const Strategy strategy : kStrategies) {
    const auto back = back_from(strategy);
    if (!back || !is_way_back_paid(strategy)) continue;
    MitigationRecord record{.strategy = strategy,
                            .is_revert = true,
                            .placement = *back,
                            .predicted_s = std::min(healthy_s_, recent_s())};
    const auto ring = changed_ring(placement_, *back);
    for (const Case& each : cases_) {
      const auto bought = each.acted_on.find(strategy);
      if (bought == each.acted_on.end() || is_held(each)) continue;
      if (strategy == Strategy::ring && group_of(each.part.component) != *ring) continue;
      record.components.push_back(each.part.component);
      record.lost_s = std::max(record.lost_s, bought->second);
    }
    record.expected_cost_s = std::min(costs_.seconds(strategy), record.lost_s);
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
  return MitigationRecord{
      .strategy = best->strategy,
      .components = best->against,
      .placement = best->placement,
      .lost_s = lost_s,
      .expected_cost_s = best_cost_s,
      .predicted_s = std::max(recent_s() - best->gain_s, std::min(recent_s(), healthy_s_))};
}

void Mitigation::applied(std::int64_t first, double cost_s, std::int64_t bytes, int generation) {
  assert(decided_);
  MitigationRecord record = *std::exchange(decided_, {});
  record.step = first;
  record.cost_s = cost_s;
  record.bytes = bytes;
  record.generation = generation;
  if (record.is_revert) way_back_pause_ = 0;
  seconds_ += cost_s;
  costs_.measure(record.strategy, cost_s);
  for (Case& each : cases_) {
    if (!has(record.components, each.part.component)) continue;
    if (record.is_revert) {
      each.acted_on.erase(record.strategy);
      continue;
    }
    each.rental.applied(record.strategy);
    each.acted_on[record.strategy] = record.lost_s;
  }
  const auto ring = changed_ring(placement_, record.placement);
  if (record.strategy == Strategy::ring && ring) record.ring_order = ring_of(record.placement, *ring);
  const RunPlacement before = std::exchange(placement_, record.placement);
  outcome_ = Outcome{.record = std::move(record), .before = before};
  is_stale_ = true;
  proposals_.clear();
}

void Mitigation::failed(double cost_s) {
  assert(decided_);
  seconds_ += cost_s;
  if (decided_->is_revert) {
    calm_iterations_ = 0;
    way_back_pause_ = std::clamp(2 * way_back_pause_, kFirstPause, kLongestPause);
  }
  for (Case& each : cases_)
    if (has(decided_->components, each.part.component)) each.rental.bar(decided_->strategy);
  decided_.reset();
}

void Mitigation::settle() {
  Outcome outcome = *std::exchange(outcome_, {});
  outcome.record.achieved_s = outcome.seconds.empty() ? recent_s() : median(outcome.seconds);
  const bool is_worse = outcome.record.achieved_s > (1 + kWorse) * outcome.record.measured_s;
  records_.push_back(outcome.record);
  // From the middle on, as the median says nothing of what was slow for less.
  if (is_worse || outcome.record.achieved_s > kDoubtful * outcome.record.predicted_s)
    doubt_ = outcome.record.step + static_cast<std::int64_t>(kSettled / 2);
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
