#include "resilience/adaptation/flap_damper.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

FlapDamper damper() { return FlapDamper({.first_hold = 4, .longest_hold = 16, .forgiving = 8}); }

void add(FlapDamper& damper, bool away, int iterations = 1) {
  for (int i = 0; i < iterations; ++i) damper.add(away);
}

/// Iterations without a reason for which it is held.
int held_for(FlapDamper& damper) {
  int iterations = 0;
  for (; damper.holds(); ++iterations) damper.add(false);
  damper.add(false);  // it is back
  return iterations;
}

TEST(FlapDamper, lets_the_first_departure_end_at_once) {
  FlapDamper link = damper();
  EXPECT_FALSE(link.holds());
  EXPECT_EQ(link.hold_of_departure(), 0);
  add(link, true, 5);
  EXPECT_FALSE(link.holds());
  EXPECT_EQ(link.hold_of_departure(), 0);
}

TEST(FlapDamper, doubles_the_hold_with_each_further_departure_up_to_the_longest) {
  FlapDamper link = damper();
  for (const int hold : {0, 4, 8, 16, 16, 16}) {
    EXPECT_EQ(link.hold_of_departure(), hold);
    add(link, true, 3);
    EXPECT_EQ(link.hold_of_departure(), hold) << "once it has left";
    EXPECT_EQ(held_for(link), hold);
  }
}

TEST(FlapDamper, begins_the_hold_anew_without_lengthening_it_when_the_reason_recurs_within_it) {
  FlapDamper link = damper();
  for (int i = 0; i < 2; ++i) {
    add(link, true);
    held_for(link);
  }
  add(link, true);
  for (int i = 0; i < 10; ++i) {
    add(link, false, 7);
    EXPECT_TRUE(link.holds());
    add(link, true);
  }
  EXPECT_EQ(held_for(link), 8);
}

TEST(FlapDamper, forgets_departures_one_by_one_after_a_long_time_without) {
  FlapDamper link = damper();
  for (int i = 0; i < 3; ++i) {
    add(link, true);
    held_for(link);
  }
  EXPECT_EQ(link.hold_of_departure(), 16);
  add(link, false, 8 * 8 - 1);
  EXPECT_EQ(link.hold_of_departure(), 16);
  add(link, false);
  EXPECT_EQ(link.hold_of_departure(), 8);
  add(link, false, 2 * 8 * 4);
  EXPECT_EQ(link.hold_of_departure(), 0);
}

TEST(FlapDamper, recovers_from_the_longest_hold_as_from_any) {
  FlapDamper link = damper();
  for (int i = 0; i < 50; ++i) {
    add(link, true);
    held_for(link);
  }
  add(link, false, 8 * 16 + 8 * 8 + 2 * 8 * 4);
  EXPECT_EQ(link.hold_of_departure(), 0);
}

}  // namespace
}  // namespace tenax::resilience
