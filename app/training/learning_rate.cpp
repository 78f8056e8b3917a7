#include "app/training/learning_rate.hpp"

#include <cmath>
#include <numbers>

namespace tenax::app {

double learning_rate_of_step(const io::OptimizerSection& optimizer, std::int64_t step) {
  const auto s = static_cast<double>(step);
  const auto warmup = static_cast<double>(optimizer.lr_warmup_steps);
  const auto decay = static_cast<double>(optimizer.lr_decay_steps);
  if (s < warmup) return optimizer.lr * (s + 1) / warmup;
  if (optimizer.lr_schedule == io::LrSchedule::constant) return optimizer.lr;
  if (s >= decay) return optimizer.min_lr;  // decay ≤ warmup included
  const double p = (s - warmup) / (decay - warmup);
  if (optimizer.lr_schedule == io::LrSchedule::linear)
    return optimizer.lr + (optimizer.min_lr - optimizer.lr) * p;
  return optimizer.min_lr + (optimizer.lr - optimizer.min_lr) * (1 + std::cos(std::numbers::pi * p)) / 2;
}

}  // namespace tenax::app
