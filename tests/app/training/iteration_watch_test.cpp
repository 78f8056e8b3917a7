// What a run tells of its iterations, with a core for each rank and without.
#include "app/training/iteration_watch.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

/// What is told of 100 ms an iteration, and of `slow_s` from the fortieth on.
std::vector<std::string> told_of(double slow_s, bool is_crowded) {
  std::vector<std::string> told;
  Console console(false);
  IterationWatch watch(
      io::DetectSection{},
      [&](std::int64_t, const std::string& name, const io::JsonObject&) { told.push_back(name); },
      {.console = console, .is_crowded = is_crowded});
  for (std::int64_t step = 0; step < 80; ++step) {
    const double noise = 1 + 0.004 * static_cast<double>(step % 3);
    watch.add({.step = step, .iteration_seconds = noise * (step < 40 ? 0.1 : slow_s)}, {});
  }
  return told;
}

using Told = std::vector<std::string>;

TEST(IterationWatch, tells_what_the_deck_asks_for_where_each_rank_has_a_core) {
  EXPECT_EQ(told_of(0.105, false), Told{});
  EXPECT_EQ(told_of(0.12, false), Told{"onset"});
}

TEST(IterationWatch, leaves_to_the_operating_system_what_ranks_that_share_cores_take) {
  EXPECT_EQ(told_of(0.14, true), Told{});
  EXPECT_EQ(told_of(0.2, true), Told{"onset"});
}

}  // namespace
}  // namespace tenax::app
