#include "resilience/mitigation/ski_rental.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace tenax::resilience {

void SkiRental::add_iteration(double seconds, double healthy_s) {
  const double loss_s = std::max(0.0, seconds - healthy_s);
  lost_.since_onset_s += loss_s;
  lost_.since_healthy_s += loss_s;
  iteration_s_ = seconds;
}

double SkiRental::all_lost_s(Strategy strategy) const {
  return strategy == Strategy::restart ? lost_.since_healthy_s : lost_.since_onset_s;
}

double SkiRental::lost_s(Strategy strategy) const {
  const auto paid = paid_for_s_.find(strategy);
  return all_lost_s(strategy) - (paid == paid_for_s_.end() ? 0 : paid->second);
}

bool SkiRental::is_due(const PricedStrategy& candidate) const {
  assert(candidate.cost_s > 0);
  return barred_.count(candidate.strategy) == 0 && lost_s(candidate.strategy) >= candidate.cost_s &&
         candidate.gain_s > 0 && candidate.gain_s >= min_gain_ * iteration_s_;
}

std::optional<PricedStrategy> SkiRental::due(std::span<const PricedStrategy> candidates) const {
  const auto place = [](const PricedStrategy& candidate) {
    return std::tuple(candidate.cost_s, -candidate.gain_s, candidate.strategy);
  };
  std::optional<PricedStrategy> best;
  for (const PricedStrategy& candidate : candidates)
    if (is_due(candidate) && (!best || place(candidate) < place(*best))) best = candidate;
  return best;
}

void SkiRental::applied(Strategy strategy) { paid_for_s_[strategy] = all_lost_s(strategy); }

}  // namespace tenax::resilience
