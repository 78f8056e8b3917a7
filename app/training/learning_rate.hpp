// The learning rate of a step.
#pragma once

#include "io/deck/deck.hpp"

namespace tenax::app {

/// step = 0, 1, …; warm-up, then constant, linear or cosine; min_lr from lr_decay_steps on.
double learning_rate_of_step(const io::OptimizerSection& optimizer, std::int64_t step);

}  // namespace tenax::app
