#include "tests/resilience/detection/slow_jobs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>

namespace tenax::resilience {
namespace {

using Random = std::mt19937;

double uniform(double low, double high, Random& random) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

int whole(int low, int high, Random& random) { return std::uniform_int_distribution<int>(low, high)(random); }

double log_uniform(double low, double high, Random& random) {
  return std::exp(uniform(std::log(low), std::log(high), random));
}

/// Noise of a machine, as a factor around 1: normal, log-normal, Laplace, or skewed to the slow side.
class Noise {
 public:
  explicit Noise(Random& random) : sigma_(log_uniform(0.004, 0.025, random)), shape_(whole(0, 3, random)) {}

  double factor(Random& random) const {
    const double z = std::normal_distribution<double>()(random);
    const double e = std::exponential_distribution<double>()(random);
    switch (shape_) {
      case 0:
        return 1 + sigma_ * z;
      case 1:
        return std::exp(sigma_ * z);
      case 2:
        return 1 + sigma_ / std::sqrt(2.0) * (z > 0 ? e : -e);
      default:
        return 1 + sigma_ * (0.8 * z + 0.6 * (e - 1));
    }
  }

 private:
  double sigma_;
  int shape_;
};

/// What lengthens single iterations: chance, something every 37 or 50, checkpoints.
class Spikes {
 public:
  explicit Spikes(Random& random)
      : share_(uniform(0, 0.01, random)),
        every_(std::array{0, 37, 50}[static_cast<std::size_t>(whole(0, 2, random))]),
        height_(uniform(1.1, 1.6, random)),
        checkpoint_every_(whole(0, 2, random) == 0 ? 100 : 0),
        checkpoint_(uniform(2, 4, random)) {}

  double factor(int iteration, Random& random) const {
    double factor = uniform(0, 1, random) < share_ ? uniform(1.1, 1.6, random) : 1;
    if (every_ > 0 && iteration % every_ == every_ - 1) factor *= height_;
    if (checkpoint_every_ > 0 && iteration % checkpoint_every_ == checkpoint_every_ - 1)
      factor *= checkpoint_;
    return factor;
  }

 private:
  double share_;
  int every_;
  double height_;
  int checkpoint_every_;
  double checkpoint_;
};

SlowJob healthy_job(int iterations, const std::vector<double>& slowness, Random& random) {
  const double level_s = log_uniform(0.05, 20, random);
  const Noise noise(random);
  const Spikes spikes(random);
  SlowJob job;
  for (int i = 0; i < iterations; ++i)
    job.seconds.push_back(level_s * slowness[static_cast<std::size_t>(i)] * noise.factor(random) *
                          spikes.factor(i, random));
  return job;
}

std::vector<TrueChange> changes_of(const std::vector<double>& slowness) {
  std::vector<TrueChange> changes;
  for (std::size_t i = 1; i < slowness.size(); ++i)
    if (slowness[i] != slowness[i - 1])
      changes.push_back({.iteration = static_cast<std::int64_t>(i), .ratio = slowness[i] / slowness[i - 1]});
  return changes;
}

SlowJob episode_job(Random& random) {
  const int length = whole(15, 150, random), begin = whole(60, 200, random);
  const int after = whole(0, 4, random) == 0 ? 0 : whole(15, 200, random);
  std::vector<double> slowness(static_cast<std::size_t>(begin + length + after), 1);
  std::fill_n(slowness.begin() + begin, length, log_uniform(1.12, 5, random));
  SlowJob job = healthy_job(static_cast<int>(slowness.size()), slowness, random);
  job.changes = changes_of(slowness);
  return job;
}

SlowJob quiet_job(Random& random) {
  const int iterations = whole(150, 600, random);
  return healthy_job(iterations, std::vector<double>(static_cast<std::size_t>(iterations), 1), random);
}

/// Three rungs of 8 %: the second one crosses 10 %, the third is below 10 % of it.
SlowJob ladder_job(Random& random) {
  const int begin = whole(60, 150, random), rung = whole(30, 80, random);
  std::vector<double> slowness(static_cast<std::size_t>(begin + 3 * rung), 1);
  for (std::size_t i = static_cast<std::size_t>(begin); i < slowness.size(); ++i)
    slowness[i] = std::pow(1.08, 1 + (static_cast<int>(i) - begin) / rung);
  SlowJob job = healthy_job(static_cast<int>(slowness.size()), slowness, random);
  job.changes = {{.iteration = begin + rung, .ratio = 1.08 * 1.08}};
  return job;
}

JobSet jobs_of(std::string name, int count, int slow, bool with_ladder, std::uint32_t seed) {
  Random random(seed);
  JobSet set{.name = std::move(name), .jobs = {}};
  for (int i = 0; i < count; ++i) {
    SlowJob job = i >= slow               ? quiet_job(random)
                  : i == 0 && with_ladder ? ladder_job(random)
                                          : episode_job(random);
    job.name = set.name + " " + std::to_string(i);
    set.jobs.push_back(std::move(job));
  }
  return set;
}

}  // namespace

JobSet compute_jobs(std::uint32_t seed) { return jobs_of("compute", 392, 6, false, seed); }

JobSet communication_jobs(std::uint32_t seed) { return jobs_of("communication", 107, 43, true, seed + 1000); }

}  // namespace tenax::resilience
