#include "resilience/mitigation/slow_cases.hpp"

#include <algorithm>
#include <utility>

namespace tenax::resilience {

void SlowCase::act(Strategy strategy, double lost_s) {
  acted_on_before.erase(strategy);
  if (const auto known = acted_on.find(strategy); known != acted_on.end()) acted_on_before.insert(*known);
  acted_on[strategy] = lost_s;
}

void SlowCase::undo(Strategy strategy) {
  acted_on.erase(strategy);
  if (const auto known = acted_on_before.find(strategy); known != acted_on_before.end())
    acted_on.insert(*known);
}

bool SlowCase::is_among(const std::vector<Component>& components) const {
  return std::any_of(components.begin(), components.end(),
                     [&](const Component& each) { return each.is_same_part(part.component); });
}

void SlowCases::add(double seconds, double healthy_s, bool is_masked) {
  for (SlowCase& each : cases_) {
    each.well = each.is_slow ? 0 : each.well + 1;
    if (each.is_slow && !is_masked) each.rental.add_iteration(seconds, healthy_s);
    each.damper.add(each.is_slow && !each.acted_on.empty());
  }
}

const SlowCase* SlowCases::find(const Component& component) const {
  const auto found = std::find_if(cases_.begin(), cases_.end(), [&](const SlowCase& each) {
    return each.part.component.is_same_part(component);
  });
  return found == cases_.end() ? nullptr : &*found;
}

SlowCase* SlowCases::find(const Component& component) {
  return const_cast<SlowCase*>(std::as_const(*this).find(component));
}

bool SlowCases::is_news(const Component& component) const {
  constexpr double kSlower = 1.1;  // told again with up to so many times its factor it has become no slower
  const SlowCase* const known = find(component);
  const bool is_known = known && known->is_slow && component.factor <= kSlower * known->part.component.factor;
  return !is_known && !is_moved_link(component);
}

// A slow link that carries another group's messages since ranks have changed places: that is what was done.
bool SlowCases::is_moved_link(const Component& component) const {
  return component.is_link() && std::any_of(cases_.begin(), cases_.end(), [&](const SlowCase& each) {
           const Component& known = each.part.component;
           return each.is_slow && known.is_link() && known.rank == component.rank &&
                  known.other == component.other && known.group != component.group;
         });
}

// Of a component that is told again what was lost and done before counts on.
void SlowCases::open(const SlowPart& part, const LostTime& lost) {
  SlowCase* known = find(part.component);
  if (!known) {
    cases_.push_back({.part = part,
                      .rental = SkiRental(min_gain_, lost),
                      .damper = FlapDamper({.first_hold = heal_steps_})});
    return;
  }
  if (!known->is_slow) known->rental.begin_again(lost);
  known->part = part;
  known->is_slow = true;
}

bool SlowCases::ease(const Component& component, const std::vector<RankReport>& reports,
                     const parallel::ProcessGrid& grid) {
  SlowCase* const known = find(component);
  if (!known) return false;
  Component eased = known->part.component;
  eased.factor = component.factor;
  known->part = slow_part(eased, reports, grid);
  return true;
}

bool SlowCases::close(const Component& component) {
  SlowCase* const known = find(component);
  if (known) known->is_slow = false;
  return known != nullptr;
}

void SlowCases::applied(const MitigationRecord& record) {
  for (SlowCase& each : cases_) {
    if (!each.is_among(record.components)) continue;
    if (record.made_worse) {
      record.is_disturbed ? each.rental.doubt(record.strategy) : each.rental.bar(record.strategy);
      each.undo(record.strategy);
    } else if (record.is_revert) {
      each.acted_on.erase(record.strategy);
    } else {
      each.rental.applied(record.strategy);
      each.act(record.strategy, record.lost_s);
    }
  }
}

void SlowCases::bar(const MitigationRecord& record) {
  for (SlowCase& each : cases_)
    if (each.is_among(record.components)) each.rental.bar(record.strategy);
}

std::vector<SlowPart> SlowCases::slow() const {
  std::vector<SlowPart> parts;
  for (const SlowCase& each : cases_)
    if (each.is_slow) parts.push_back(each.part);
  return parts;
}

bool SlowCases::is_any_slow() const {
  return std::any_of(cases_.begin(), cases_.end(), [](const SlowCase& each) { return each.is_slow; });
}

}  // namespace tenax::resilience
