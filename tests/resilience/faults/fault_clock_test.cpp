// When a fault holds: by steps, by seconds, by both.
#include "resilience/faults/fault_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace tenax::resilience {
namespace {

TEST(FaultWindow, holds_from_its_first_step_to_before_its_last) {
  const FaultWindow window{.from_step = 2, .to_step = 4};
  EXPECT_FALSE(window.holds_at(1, 100));
  EXPECT_TRUE(window.holds_at(2, 0));
  EXPECT_TRUE(window.holds_at(3, 100));
  EXPECT_FALSE(window.holds_at(4, 0));
}

TEST(FaultWindow, holds_from_its_first_second_to_before_its_last) {
  const FaultWindow window{.from_s = 1.5, .to_s = 3};
  EXPECT_FALSE(window.holds_at(0, 1.4));
  EXPECT_TRUE(window.holds_at(0, 1.5));
  EXPECT_TRUE(window.holds_at(1000, 2.9));
  EXPECT_FALSE(window.holds_at(0, 3));
}

TEST(FaultWindow, of_steps_and_seconds_holds_while_both_do) {
  const FaultWindow window{.from_step = 2, .to_step = 4, .from_s = 1, .to_s = 3};
  EXPECT_TRUE(window.holds_at(2, 1));
  EXPECT_FALSE(window.holds_at(1, 1));
  EXPECT_FALSE(window.holds_at(2, 0.5));
  EXPECT_FALSE(window.holds_at(4, 2));
  EXPECT_FALSE(window.holds_at(3, 3));
}

TEST(FaultWindow, without_bounds_holds_for_ever) {
  EXPECT_TRUE(FaultWindow{}.holds_at(0, 0));
  EXPECT_TRUE(FaultWindow{}.holds_at(1'000'000, 1e9));
}

TEST(FaultClock, counts_seconds_from_the_begin_of_the_first_step) {
  using std::chrono::seconds;
  FaultClock clock;
  const auto before = FaultClock::Clock::now();
  EXPECT_EQ(clock.step(), -1);
  EXPECT_EQ(clock.run_s(before + seconds(100)), 0);
  EXPECT_FALSE(clock.is_within({}));

  clock.begin_step(7);
  const auto after = FaultClock::Clock::now();
  clock.begin_step(8);
  EXPECT_EQ(clock.step(), 8);
  EXPECT_EQ(clock.run_s(before), 0);
  EXPECT_GE(clock.run_s(after + seconds(100)), 100);
  EXPECT_LE(clock.run_s(before + seconds(100)), 100);
  EXPECT_TRUE(clock.is_within({.from_s = 100}, after + seconds(100)));
  EXPECT_FALSE(clock.is_within({.from_s = 100}, before + seconds(100) - seconds(1)));
  EXPECT_FALSE(clock.is_within({.from_step = 9}));
}

}  // namespace
}  // namespace tenax::resilience
