#include "resilience/replicas/own_norms.hpp"

#include <algorithm>
#include <cmath>

namespace tenax::resilience {
namespace {

/// Σg² that is so many times what it should be at most; norms differ by the root of it. Gradients of different samples do not.
constexpr double kFactor = 64;
constexpr std::size_t kSteps = 16, kFewestSteps = 4;
constexpr double kRounding = 1e-3;

double mean_squares(const OwnNorm& norm) {
  const auto samples = static_cast<double>(norm.samples);
  return norm.squares / (samples * samples);
}

bool is_judged(const OwnNorm& norm) { return norm.samples > 0; }
bool is_sound(const OwnNorm& norm) { return is_judged(norm) && std::isfinite(norm.squares); }

/// How many times as large as it should be; 0 where nothing says how large that is.
double excess(std::span<const OwnNorm> norms, std::size_t index) {
  double expected = norms[index].usual;
  bool has_others = false;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    if (i == index || !is_sound(norms[i])) continue;
    has_others = true;
    expected = std::max(expected, mean_squares(norms[i]));
  }
  return has_others && expected > 0 ? mean_squares(norms[index]) / expected : 0;
}

}  // namespace

void UsualNorm::add(std::int64_t samples, double squares) {
  const OwnNorm norm{.samples = samples, .squares = squares};
  if (!is_sound(norm)) return;
  last_.push_back(mean_squares(norm));
  if (last_.size() > kSteps) last_.pop_front();
}

double UsualNorm::value() const {
  return last_.size() < kFewestSteps ? 0 : *std::max_element(last_.begin(), last_.end());
}

std::optional<std::size_t> doubtful(std::span<const OwnNorm> norms) {
  if (std::none_of(norms.begin(), norms.end(), is_sound)) return {};
  std::optional<std::size_t> found;
  double most = kFactor;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    if (is_judged(norms[i]) && !is_sound(norms[i])) return i;
    if (!is_judged(norms[i]) || excess(norms, i) <= most) continue;
    found = i;
    most = excess(norms, i);
  }
  return found;
}

bool contradicts(double squares, double again) {
  if (!std::isfinite(squares) || !std::isfinite(again)) return std::isfinite(squares) != std::isfinite(again);
  return std::abs(squares - again) > kRounding * std::max(squares, again);
}

}  // namespace tenax::resilience
