// When a slow device counts as held back.
#include "resilience/diagnosis/throttling.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

using kernels::Throttle;
using kernels::ThrottleSet;

ThrottleSet set_of(std::initializer_list<Throttle> reasons) {
  ThrottleSet set;
  for (const Throttle reason : reasons) set.add(reason);
  return set;
}

RankFigures figures_of(double clock_mhz, std::initializer_list<Throttle> reasons = {}) {
  RankFigures figures;
  add_reading(figures, {.sm_clock_mhz = clock_mhz,
                        .max_sm_clock_mhz = 1980,
                        .temperature_c = 80,
                        .throttled_by = set_of(reasons)});
  return figures;
}

TEST(Throttling, is_a_clock_clearly_below_the_healthy_one) {
  const RankFigures healthy = figures_of(1700);
  const auto slow = find_throttling({.now = figures_of(1600), .healthy = healthy});
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->clock_mhz, 1600);
  EXPECT_EQ(slow->healthy_clock_mhz, 1700);
  EXPECT_EQ(slow->temperature_c, 80);
  EXPECT_TRUE(slow->by.is_empty());
  EXPECT_FALSE(find_throttling({.now = figures_of(1640), .healthy = healthy}));
}

TEST(Throttling, is_a_reason_that_was_none_before) {
  for (const Throttle reason : kernels::kThrottles) {
    const auto slow = find_throttling({.now = figures_of(1700, {reason}), .healthy = figures_of(1700)});
    ASSERT_TRUE(slow);
    EXPECT_EQ(slow->by, set_of({reason}));
  }
}

TEST(Throttling, is_no_power_limit_that_always_was_reached_unless_the_clock_falls) {
  const RankFigures healthy = figures_of(1500, {Throttle::power_cap});
  EXPECT_FALSE(find_throttling({.now = figures_of(1490, {Throttle::power_cap}), .healthy = healthy}));
  const auto slow = find_throttling({.now = figures_of(1200, {Throttle::power_cap}), .healthy = healthy});
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->by, set_of({Throttle::power_cap}));
  const auto hot = find_throttling(
      {.now = figures_of(1490, {Throttle::power_cap, Throttle::hardware_thermal}), .healthy = healthy});
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->by, set_of({Throttle::power_cap, Throttle::hardware_thermal}));
}

TEST(Throttling, is_not_known_without_readings_of_both_times) {
  const RankFigures slow = figures_of(900, {Throttle::hardware_thermal});
  EXPECT_FALSE(find_throttling({}));
  EXPECT_FALSE(find_throttling({.now = slow, .healthy = {}}));
  EXPECT_FALSE(find_throttling({.now = {}, .healthy = figures_of(1700)}));
  EXPECT_TRUE(find_throttling({.now = slow, .healthy = figures_of(1700)}));
}

TEST(Throttling, is_told_by_reasons_alone_where_the_device_tells_no_clock) {
  EXPECT_FALSE(find_throttling({.now = figures_of(0), .healthy = figures_of(0)}));
  EXPECT_FALSE(find_throttling({.now = figures_of(0), .healthy = figures_of(1700)}));
  EXPECT_TRUE(find_throttling({.now = figures_of(0, {Throttle::power_brake}), .healthy = figures_of(0)}));
}

}  // namespace
}  // namespace tenax::resilience
