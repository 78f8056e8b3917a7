// Strategy: what can be done about something slow, besides waiting (Greyhound, table 2).
#pragma once

#include <array>

namespace tenax::resilience {

enum class Strategy {
  microbatches,  ///< S2: slow data-parallel groups compute fewer microbatches
  ring,          ///< S3 without a move: a data group's ring goes round without the slow link
  swap,          ///< S3: tensor groups exchange their places in the grid
  restart        ///< S4: a checkpoint, and a start without the slow hosts
};

inline constexpr std::array kStrategies = {Strategy::microbatches, Strategy::ring, Strategy::swap,
                                           Strategy::restart};

/// "microbatches", "ring", "swap", "restart": the words of deck and events.
const char* name_of(Strategy strategy);

/// What an application costs and is expected to bring.
struct PricedStrategy {
  Strategy strategy = Strategy::microbatches;
  double cost_s = 0;  ///< > 0: what training waits for it
  double gain_s = 0;  ///< by which an iteration becomes shorter
};

}  // namespace tenax::resilience
