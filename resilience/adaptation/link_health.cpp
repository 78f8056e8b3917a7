#include "resilience/adaptation/link_health.hpp"

#include <algorithm>

#include "resilience/adaptation/schedule_scorer.hpp"

namespace tenax::resilience {
namespace {

using parallel::PipelineCosts;

}  // namespace

void LinkHealth::assess(const Situation& situation, const std::vector<char>& delegated) {
  const double own_s = situation.costs.wire_s;
  for (std::size_t index = 0; index < links_.size(); ++index) {
    Link& link = links_[index];
    link.slow = costs_much(situation, index, delegated, 0, link.slow);
    link.straggler = own_s > 0 ? costs_much(situation, index, delegated, own_s, link.straggler) : link.slow;
  }
}

// By itself, or on top of what the other links cost.
bool LinkHealth::costs_much(const Situation& situation, std::size_t link, std::vector<char> delegated,
                            double beyond_s, bool did) const {
  const auto number = static_cast<int>(link);
  if (situation.forecast.delay_s(number) <= beyond_s + situation.forecast.material_s(number)) return false;
  if (did) delegated[link] = 0;
  const PipelineCosts& costs = situation.costs;
  PipelineCosts none = costs, others = costs;
  for (double& delay_s : none.link_delay_s) delay_s = std::min(delay_s, beyond_s);
  PipelineCosts alone = none;
  alone.link_delay_s[link] = costs.link_delay_s[link];
  others.link_delay_s[link] = none.link_delay_s[link];
  const auto time_s = [&](const PipelineCosts& of) {
    return predict_s(did ? situation.home : situation.running, of, situation.direct, delegated);
  };
  const auto exceeds = [&](double with_s, double without_s) {
    const double share = did ? 0.5 : 1;
    return with_s > without_s + share * situation.threshold.least_gain_s(without_s);
  };
  return exceeds(time_s(alone), time_s(none)) || exceeds(time_s(costs), time_s(others));
}

bool LinkHealth::any_is_slow() const {
  return std::any_of(links_.begin(), links_.end(), [](const Link& link) { return link.slow; });
}

void LinkHealth::report(const AdaptationEvent& now, const PipelineForecast& forecast,
                        std::vector<AdaptationEvent>& events) {
  for (std::size_t index = 0; index < links_.size(); ++index) {
    Link& link = links_[index];
    const double delay_s = forecast.delay_s(static_cast<int>(index));
    if (!link.straggler || delay_s <= 2 * link.reported_s) continue;
    link.reported_s = delay_s;
    AdaptationEvent event = now;
    event.kind = AdaptationKind::straggler;
    event.link = static_cast<int>(index);
    event.delay_s = delay_s;
    events.push_back(event);
  }
}

}  // namespace tenax::resilience
