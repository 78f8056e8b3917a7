#include "tests/resilience/mitigation/slow_episode.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenax::resilience {
namespace {

constexpr double kHealthyS = 1;

/// What each option would win of an iteration that loses `loss_s` with nothing, `left` of it now.
std::vector<PricedStrategy> candidates(const SlowEpisode& episode, double loss_s, double left) {
  std::vector<PricedStrategy> candidates;
  for (const SlowEpisode::Option& option : episode.options)
    candidates.push_back(
        {.strategy = option.strategy, .cost_s = option.cost_s, .gain_s = loss_s * (left - option.leaves)});
  return candidates;
}

}  // namespace

SlowEpisode SlowEpisode::random(std::size_t options, std::mt19937& random) {
  const auto draw = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  const auto magnitude = [&](double least, double most) {
    return std::exp(draw(std::log(least), std::log(most)));
  };
  SlowEpisode episode{.loss_s = std::vector<double>(static_cast<std::size_t>(magnitude(1, 2000))),
                      .options = {}};
  const double severity_s = magnitude(0.03, 5), unrest = draw(0, 1);
  for (double& loss_s : episode.loss_s) loss_s = severity_s * draw(1 - unrest, 1 + unrest);
  for (std::size_t i = 0; i < options; ++i) {
    const double leaves = std::clamp(draw(-0.3, 1.1), 0.0, 1.0);
    episode.options.push_back(
        {.strategy = kStrategies.at(i), .cost_s = magnitude(0.01, 1000), .leaves = leaves});
  }
  return episode;
}

double SlowEpisode::lost_by_ski_rental_s() const {
  SkiRental rental(0, {});
  double lost_s = 0, left = 1;
  for (const double loss : loss_s) {
    lost_s += left * loss;
    rental.add_iteration(kHealthyS + left * loss, kHealthyS);
    const std::optional<PricedStrategy> due = rental.due(candidates(*this, loss, left));
    if (!due) continue;
    rental.applied(due->strategy);
    lost_s += due->cost_s;
    left -= due->gain_s / loss;
  }
  return lost_s;
}

double SlowEpisode::least_lost_s() const {
  const double all_s = std::accumulate(loss_s.begin(), loss_s.end(), 0.0);
  double least_s = all_s;
  for (const Option& option : options) least_s = std::min(least_s, option.cost_s + option.leaves * all_s);
  return least_s;
}

double SlowEpisode::longest_loss_s() const { return *std::max_element(loss_s.begin(), loss_s.end()); }

}  // namespace tenax::resilience
