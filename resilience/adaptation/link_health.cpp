#include "resilience/adaptation/link_health.hpp"

#include <algorithm>

#include "resilience/adaptation/schedule_scorer.hpp"

namespace tenax::resilience {
namespace {

using parallel::PipelineCosts;

std::vector<char> without(std::vector<char> links, std::size_t link) {
  links[link] = 0;
  return links;
}

}  // namespace

void LinkHealth::assess(const Situation& situation, const std::vector<char>& delegated) {
  for (std::size_t index = 0; index < links_.size(); ++index) {
    Link& link = links_[index];
    const auto number = static_cast<int>(index);
    const bool material = situation.forecast.delay_s(number) > situation.forecast.material_s(number);
    link.slow = material && costs_much(situation, index, link.slow ? without(delegated, index) : delegated);
  }
}

// By itself, or on top of what the other links cost.
bool LinkHealth::costs_much(const Situation& situation, std::size_t link,
                            const std::vector<char>& delegated) const {
  const PipelineCosts& costs = situation.costs;
  const bool was_slow = links_[link].slow;
  PipelineCosts none = costs, alone = costs, others = costs;
  none.link_delay_s.assign(costs.link_delay_s.size(), 0.0);
  alone.link_delay_s = none.link_delay_s;
  alone.link_delay_s[link] = costs.link_delay_s[link];
  others.link_delay_s[link] = 0;
  const auto time_s = [&](const PipelineCosts& of) {
    return predict_s(was_slow ? situation.home : situation.running, of, situation.direct, delegated);
  };
  const auto exceeds = [&](double with_s, double without_s) {
    const double share = was_slow ? 0.5 : 1;
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
    if (!link.slow || delay_s <= 2 * link.reported_s) continue;
    link.reported_s = delay_s;
    AdaptationEvent event = now;
    event.kind = AdaptationKind::straggler;
    event.link = static_cast<int>(index);
    event.delay_s = delay_s;
    events.push_back(event);
  }
}

}  // namespace tenax::resilience
