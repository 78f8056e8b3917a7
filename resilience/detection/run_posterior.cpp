// The papers report a change where P(run length = 0) exceeds a threshold. With the recursion as
// published that probability is the hazard at every iteration. What changes is the mass of the runs
// that began lately: since().
#include "resilience/detection/run_posterior.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tenax::resilience {
namespace {

constexpr std::size_t kMostRuns = 40;
constexpr double kLeastWeight = 1e-7;
constexpr double kFirstNoise = 0.01, kLeastNoise = 0.003;

/// Of a new level: anywhere within a factor of 16 of the last one, either way.
const double kDensityOfNewLevel = 1 / std::log(256.0);

}  // namespace

void RunPosterior::add(std::int64_t number, double x) {
  const double hazard = 1 / options_.hazard;
  const double noise = runs_.empty() ? kFirstNoise : std::max(kLeastNoise, in_force().noise());
  double sum = hazard * kDensityOfNewLevel;
  for (Weighted& entry : runs_)
    sum += entry.weight *= (1 - hazard) * entry.run.observe(x, options_.spike_share);
  runs_.push_back({LevelRun(number, x, noise), hazard * kDensityOfNewLevel});
  for (Weighted& entry : runs_) entry.weight /= sum;
  drop_light();
}

double RunPosterior::since(std::int64_t number) const {
  double sum = 0;
  for (auto entry = runs_.rbegin(); entry != runs_.rend() && entry->run.begin() >= number; ++entry)
    sum += entry->weight;
  return std::min(sum, 1.0);
}

void RunPosterior::drop_light() {
  const auto lighter = [](const Weighted& a, const Weighted& b) { return a.weight < b.weight; };
  std::erase_if(runs_, [](const Weighted& entry) { return entry.weight < kLeastWeight; });
  if (runs_.size() > kMostRuns) runs_.erase(std::min_element(runs_.begin(), runs_.end(), lighter));
  assert(!runs_.empty());
  heaviest_ = static_cast<std::size_t>(std::max_element(runs_.begin(), runs_.end(), lighter) - runs_.begin());
}

}  // namespace tenax::resilience
