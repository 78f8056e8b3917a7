#include "resilience/detection/healthy_level.hpp"

#include <algorithm>

namespace tenax::resilience {

void HealthyLevel::add(double x) {
  recent_.add(x);
  calm_.add(x);
  if (!calm_.is_full()) return;
  if (!is_slow()) healthy_ = std::min(calm_.median(), healthy_.value_or(calm_.median()));
  if (is_slow() && is_rough_) slow_ = calm_.median();
  is_rough_ = false;
}

void HealthyLevel::change(double before, double after) {
  if (!is_slow() && after > before) healthy_ = std::min(before, healthy_.value_or(before));
  calm_.clear();
  settle(after);
}

void HealthyLevel::begin_level(ExpectedLevel expected) {
  if (expected != ExpectedLevel::unknown) slow_.reset();
  if (!healthy_ && recent_.is_full()) healthy_ = recent_.median();
  if (expected == ExpectedLevel::other_work) healthy_.reset();
  recent_.clear();
  calm_.clear();
}

void HealthyLevel::settle(double level) {
  if (is_above(level)) {
    slow_ = level;
    is_rough_ = true;
    return;
  }
  slow_.reset();
  healthy_ = std::min(level, healthy_.value_or(level));
}

bool HealthyLevel::is_at_best() const {
  constexpr double kSame = 0.02;
  return healthy_ && recent_.is_full() && recent_.median() - *healthy_ < kSame;
}

std::optional<double> HealthyLevel::recent() const {
  return recent_.is_full() ? std::optional(recent_.median()) : std::nullopt;
}

}  // namespace tenax::resilience
