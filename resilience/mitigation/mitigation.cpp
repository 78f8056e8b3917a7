// An action at a time: the next one is decided on when it is known what the last one achieved. First what made matters worse is
// undone, then what is not needed any more, then what is due.
#include "resilience/mitigation/mitigation.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tenax::resilience {

Mitigation::Mitigation(RunPlacement launch, Options options)
    : placement_(launch),
      cases_(options.min_gain, options.heal_steps),
      outcome_(options.shape),
      way_back_(std::move(launch), options.shape, options.min_gain) {}

void Mitigation::add(std::int64_t number, double seconds, bool is_masked) {
  const bool is_any_slow = cases_.is_any_slow();
  loss_.add(number, seconds, is_any_slow, is_masked);
  way_back_.add(is_any_slow);
  cases_.add(seconds, loss_.healthy_s(), is_masked);
  outcome_.add(seconds, is_masked);
}

void Mitigation::take(const FailSlow& found, const std::vector<RankReport>& reports,
                      const parallel::ProcessGrid& grid) {
  if (found.components.empty()) return;
  const bool is_disturbed = std::any_of(found.components.begin(), found.components.end(),
                                        [&](const Component& each) { return cases_.is_news(each); });
  const LostTime lost = loss_.take(found, !cases_.is_any_slow());
  for (const Component& component : found.components) cases_.open(slow_part(component, reports, grid), lost);
  if (is_disturbed) outcome_.disturb();
  outdate();
}

// What was done was enough for a slower part: less of it may be better now.
void Mitigation::take(const Eased& eased, const std::vector<RankReport>& reports,
                      const parallel::ProcessGrid& grid) {
  if (cases_.ease(eased.component, reports, grid)) outdate();
}

void Mitigation::take(const Healed& healed) {
  if (!cases_.close(healed.component)) return;
  outdate();
  if (!cases_.is_any_slow()) loss_.close();
}

void Mitigation::outdate() {
  is_stale_ = true;
  proposals_.clear();
}

std::optional<Action> Mitigation::decide(bool is_inquired) {
  if (outcome_.is_awaited() || !loss_.knows_recent() || (outcome_.is_regretted() && is_inquired)) return {};
  decided_ = outcome_.undo(placement_, costs_);
  if (!decided_) decided_ = way_back_.next(placement_, cases_, costs_, loss_);
  if (!decided_) decided_ = best_due();
  if (!decided_) return {};
  decided_->measured_s = loss_.recent_s();
  return Action{.strategy = decided_->strategy, .placement = decided_->placement};
}

std::optional<MitigationRecord> Mitigation::best_due() const {
  const Proposal* best = nullptr;
  double best_cost_s = 0, lost_s = 0;
  for (const SlowCase& each : cases_.all()) {
    if (!each.is_slow) continue;
    for (const Proposal& proposal : proposals_) {
      const bool changes = proposal.strategy == Strategy::restart || !(proposal.placement == placement_);
      if (!changes || !each.is_among(proposal.against)) continue;
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
  const double recent_s = loss_.recent_s();
  return MitigationRecord{.strategy = best->strategy,
                          .components = best->against,
                          .placement = best->placement,
                          .lost_s = lost_s,
                          .expected_cost_s = best_cost_s,
                          .predicted_s = std::max(recent_s - best->gain_s - best->returned_s,
                                                  std::min(recent_s, loss_.healthy_s()))};
}

void Mitigation::applied(std::int64_t first, double cost_s, std::int64_t bytes, int generation,
                         std::optional<RunPlacement> placement) {
  assert(decided_);
  MitigationRecord record = *std::exchange(decided_, {});
  if (placement) record.placement = *std::move(placement);
  record.step = first;
  record.cost_s = cost_s;
  record.bytes = bytes;
  record.generation = generation;
  if (record.made_worse) record.is_disturbed = outcome_.is_excused();
  if (record.is_revert) way_back_.succeeded(record.strategy);
  seconds_ += cost_s;
  costs_.measure(record.strategy, cost_s);
  cases_.applied(record);
  RunPlacement before = std::exchange(placement_, record.placement);
  outcome_.begin(std::move(record), std::move(before));
  loss_.begin_placement();
  outdate();
}

void Mitigation::failed(double cost_s) {
  assert(decided_);
  seconds_ += cost_s;
  if (decided_->made_worse)
    outcome_.keep();
  else if (decided_->is_revert)
    way_back_.failed(decided_->strategy);
  else
    cases_.bar(*decided_);
  decided_.reset();
}

}  // namespace tenax::resilience
