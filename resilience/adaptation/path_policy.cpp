#include "resilience/adaptation/path_policy.hpp"

#include <algorithm>
#include <cassert>

#include "comm/delegates/delegated_link.hpp"
#include "resilience/adaptation/schedule_scorer.hpp"

namespace tenax::resilience {

using parallel::PipelineCosts;

PathPolicy::PathPolicy(int links, int microbatches, const AdaptationSettings& settings)
    : settings_(settings), microbatches_(microbatches) {
  const LinkPath first{.delegated = settings.paths == PathChoice::delegated_only};
  chosen_.assign(static_cast<std::size_t>(links), first);
  links_.assign(chosen_.size(), {.condition = {}, .told = first, .damper = {}});
}

void PathPolicy::observe(const std::vector<LinkCondition>& conditions) {
  assert(conditions.size() == links_.size());
  for (std::size_t link = 0; link < links_.size(); ++link) {
    links_[link].condition = conditions[link];
    if (just_broke(link)) chosen_[link].delegated = true;
  }
}

void PathPolicy::choose(const Situation& situation, const LinkHealth& health) {
  for (std::size_t link = 0; link < links_.size(); ++link) {
    chosen_[link].delegated = should_delegate(link, situation, health);
    if (chosen_[link].delegated) chosen_[link].delegates = delegates_for(link, situation.costs);
  }
}

void PathPolicy::damp(const LinkHealth& health) {
  if (!is_automatic()) return;
  for (std::size_t link = 0; link < links_.size(); ++link) {
    const bool has_reason = health.is_slow(link) || !links_[link].condition.direct_usable;
    links_[link].damper.add(chosen_[link].delegated && has_reason);
  }
}

bool PathPolicy::should_delegate(std::size_t link, const Situation& situation,
                                 const LinkHealth& health) const {
  if (!is_automatic()) return settings_.paths == PathChoice::delegated_only;
  if (!links_[link].condition.direct_usable) return true;
  if (!health.is_slow(link) || chosen_[link].delegated) return health.is_slow(link) || holds(link);
  // A slow link whose copies would cost more than its queue does stays where it is.
  std::vector<char> delegated = this->delegated();
  const double direct_s = predict_s(situation.running, situation.costs, situation.direct, delegated);
  delegated[link] = 1;
  PipelineCosts copied = situation.costs;
  copied.link_delay_s[link] += settings_.delegate_overhead_s;
  return predict_s(situation.running, copied, situation.direct, delegated) <= direct_s;
}

// Consumption keeps up with production (section 5.2): a delegate is busy with a message for as long as it
// travels, and while forwards or gradients follow each other without a pause, one is produced every F or
// every B, of which no more go than the wire takes. One delegate more takes up the unevenness; a number that is a
// little high already stays.
int PathPolicy::delegates_for(std::size_t link, const PipelineCosts& costs) const {
  const double produced_s = std::min(costs.stages[link].forward_s, costs.stages[link + 1].backward_input_s);
  const double interval_s = std::max(produced_s, costs.wire_s);
  constexpr int kMost = 16;  // per link and direction
  const int most = std::min(kMost, microbatches_);
  const int wanted = std::min(most, comm::delegates_needed(costs.link_delay_s[link], interval_s) + 1);
  const LinkPath& now = links_[link].told;
  return now.delegated && now.delegates >= wanted && now.delegates <= 2 * wanted ? now.delegates : wanted;
}

std::vector<char> PathPolicy::delegated() const {
  std::vector<char> delegated;
  for (const LinkPath& path : chosen_) delegated.push_back(path.delegated);
  return delegated;
}

bool PathPolicy::any_just_broke() const {
  return std::any_of(links_.begin(), links_.end(),
                     [](const Link& link) { return link.condition.just_broke(); });
}

bool PathPolicy::any_is_held() const {
  return std::any_of(links_.begin(), links_.end(), [](const Link& link) { return link.damper.holds(); });
}

bool PathPolicy::may_return(std::size_t link, const LinkHealth& health) const {
  return is_automatic() && chosen_[link].delegated && links_[link].condition.direct_usable &&
         !health.is_slow(link) && !holds(link);
}

PipelineMeasurement PathPolicy::without_copies(PipelineMeasurement measurement) const {
  const double copy_s = settings_.delegate_overhead_s / 2;
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!was_delegated(link)) continue;
    for (LinkMeasurement* direction :
         {&measurement.stages[link + 1].activations, &measurement.stages[link].gradients}) {
      direction->delay_s = std::max(0.0, direction->delay_s - copy_s);
      direction->overhead_s += copy_s;
    }
  }
  return measurement;
}

PipelineCosts PathPolicy::with_overheads(PipelineCosts costs, const PipelineForecast& forecast) const {
  for (std::size_t link = 0; link < links_.size(); ++link)
    if (chosen_[link].delegated)
      costs.link_delay_s[link] +=
          was_delegated(link) ? forecast.overhead_s(static_cast<int>(link)) : settings_.delegate_overhead_s;
  return costs;
}

void PathPolicy::report(const AdaptationEvent& now, const PipelineForecast& forecast,
                        std::vector<AdaptationEvent>& events) {
  for (std::size_t index = 0; index < links_.size(); ++index) {
    Link& link = links_[index];
    link.told = chosen_[index];
    if (link.told.delegated == link.condition.delegated) continue;
    AdaptationEvent event = now;
    event.kind = link.told.delegated ? AdaptationKind::delegate : AdaptationKind::direct;
    event.link = static_cast<int>(index);
    event.delay_s = forecast.delay_s(event.link);
    event.direct_messages = link.condition.direct_messages;
    event.delegated_messages = link.condition.delegated_messages;
    event.hold_steps = link.told.delegated ? link.damper.hold_of_departure() : 0;
    events.push_back(event);
  }
}

}  // namespace tenax::resilience
