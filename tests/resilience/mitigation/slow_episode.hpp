// SlowEpisode: a component that is slow for a while, and what strategies would do about it.
#pragma once

#include <random>
#include <vector>

#include "resilience/mitigation/ski_rental.hpp"

namespace tenax::resilience {

/// Losses beside a healthy iteration of 1 s.
struct SlowEpisode {
  struct Option {
    Strategy strategy;
    double cost_s;
    double leaves;  ///< share of the loss, 0 to 1, while it is the one applied last
  };
  std::vector<double> loss_s;  ///< of each iteration, if nothing is done
  std::vector<Option> options;

  /// Of random length, severity and unrest, with `options` options of random costs and effects.
  static SlowEpisode random(std::size_t options, std::mt19937& random);

  /// All that is lost, costs included, under SkiRental with `min_gain` = 0.
  double lost_by_ski_rental_s() const;
  /// By the best choice of one option, or none, at the onset.
  double least_lost_s() const;
  double longest_loss_s() const;
};

}  // namespace tenax::resilience
