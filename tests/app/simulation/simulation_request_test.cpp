#include "app/simulation/simulation_request.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace tenax::app {
namespace {

io::Deck deck_of_replicas(int replicas) {
  io::Deck deck;
  deck.parallel.replicas = replicas;
  deck.batch.global_batch_size = 8 * replicas;
  return deck;
}

SimulationOptions options_of(const io::Deck& deck) {
  const CommandLine nothing({.command = "simulate", .with_value = {}, .flags = {}}, {});
  return SimulationRequest::of(deck, nothing).options;
}

TEST(SimulationRequest, writes_checkpoints_as_often_as_the_deck_says) {
  io::Deck deck = deck_of_replicas(2);
  const auto options = [&](std::int64_t interval, double minutes) {
    deck.checkpoint.interval = interval;
    deck.checkpoint.interval_minutes = minutes;
    return options_of(deck);
  };
  EXPECT_EQ(options(7, 30).checkpoint_steps, 7);
  EXPECT_EQ(options(0, 30).checkpoint_steps, 0);
  EXPECT_EQ(options(0, 30).checkpoint_every_s, 30 * kMinute_s);
  const double never_s = std::numeric_limits<double>::infinity();
  for (const auto& [interval, minutes] : {std::pair(0, 0), std::pair(-1, 30)}) {
    EXPECT_EQ(options(interval, minutes).checkpoint_steps, 0);
    EXPECT_EQ(options(interval, minutes).checkpoint_every_s, never_s)
        << "one at the end is not reached by a simulation";
  }
}

}  // namespace
}  // namespace tenax::app
