// LevelRun: what is known of the iterations since one moment, if their level has not changed since.
#pragma once

#include <cstdint>

namespace tenax::resilience {

/// Values are normal around an unknown level with an unknown variance, and now and then spikes
/// above it. The prior is normal-inverse-gamma, flat in the level. (Murphy, "Conjugate Bayesian
/// analysis of the Gaussian distribution", 2007, section 3.)
class LevelRun {
 public:
  /// Begins with `x`, the natural logarithm of an iteration's seconds, and expects a noise of
  /// `sigma`.
  LevelRun(std::int64_t begin, double x, double sigma);

  /// The density of `x` given the run, spikes included with probability `spike_share`. Takes `x`
  /// into the run with the weight that it has as an ordinary value: spikes leave the run as it was.
  /// Forgets beyond 200 values.
  double observe(double x, double spike_share);

  std::int64_t begin() const { return begin_; }
  double level() const { return mu_; }
  /// The standard deviation of ordinary values, 1e-6 at the least.
  double noise() const;

 private:
  double ordinary_density(double x) const;
  void take(double x, double weight);
  void forget();

  std::int64_t begin_;
  double mu_, kappa_, alpha_, beta_;
};

}  // namespace tenax::resilience
