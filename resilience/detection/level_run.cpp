#include "resilience/detection/level_run.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenax::resilience {
namespace {

constexpr double kPriorAlpha = 2, kMemory = 200;
constexpr double kMostAlpha = kPriorAlpha + kMemory / 2;
/// Of a value: no clock tells less. Values that were rounded to the same digits have none at all.
constexpr double kLeastRunNoise = 1e-6;

/// Γ(a + 1/2) / (Γ(a) √a), to five digits from a = 2 on (Tricomi and Erdélyi, 1951).
double gamma_ratio(double a) {
  const double r = 1 / a;
  return 1 - r * (1.0 / 8 - r * (1.0 / 128 + r * (5.0 / 1024 - r * 21.0 / 32768)));
}

/// Flat over a factor of 16 above the level and, with a twentieth of that, below. It has no end, so
/// that no value ends all runs.
double spike_density(bool is_above) {
  constexpr double kBelow = 1.0 / 20;
  static const double above = 1 / ((1 + kBelow) * std::log(16.0));
  return is_above ? above : kBelow * above;
}

}  // namespace

LevelRun::LevelRun(std::int64_t begin, double x, double sigma)
    : begin_(begin), mu_(x), kappa_(1), alpha_(kPriorAlpha), beta_(kPriorAlpha * sigma * sigma) {}

double LevelRun::observe(double x, double spike_share) {
  const double ordinary = (1 - spike_share) * ordinary_density(x);
  const double density = ordinary + spike_share * spike_density(x > mu_);
  if (density > 0) take(x, ordinary / density);
  return density;
}

double LevelRun::noise() const { return std::sqrt(beta_ / alpha_); }

/// Student's t with 2α degrees of freedom.
double LevelRun::ordinary_density(double x) const {
  const double scale2 = beta_ * (kappa_ + 1) / (alpha_ * kappa_), off = x - mu_;
  const double tail = std::exp(-(alpha_ + 0.5) * std::log1p(off * off / (2 * alpha_ * scale2)));
  return gamma_ratio(alpha_) * tail / std::sqrt(2 * std::numbers::pi * scale2);
}

void LevelRun::take(double x, double weight) {
  const double kappa = kappa_ + weight, off = x - mu_;
  beta_ += weight * kappa_ * off * off / (2 * kappa);
  mu_ += weight * off / kappa;
  alpha_ += weight / 2;
  kappa_ = std::min(kappa, kMemory);
  forget();
}

void LevelRun::forget() {
  if (alpha_ > kMostAlpha) {
    beta_ *= kMostAlpha / alpha_;
    alpha_ = kMostAlpha;
  }
  beta_ = std::max(beta_, alpha_ * kLeastRunNoise * kLeastRunNoise);
}

}  // namespace tenax::resilience
