#include "resilience/effective_time/usual_step.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

TEST(UsualStep, is_unknown_before_the_first_step) { EXPECT_FALSE(UsualStep().seconds(4)); }

TEST(UsualStep, is_the_median_of_the_first_steps) {
  UsualStep usual;
  for (const double seconds : {1.0, 9.0, 1.2}) usual.add(4, seconds);
  EXPECT_DOUBLE_EQ(*usual.seconds(4), 1.2);
}

TEST(UsualStep, stays_what_it_was_when_steps_become_slow) {
  UsualStep usual;
  for (int step = 0; step < 40; ++step) usual.add(4, 1);
  for (int step = 0; step < 400; ++step) usual.add(4, 2);
  EXPECT_DOUBLE_EQ(*usual.seconds(4), 1);
}

TEST(UsualStep, becomes_what_steps_are_when_they_are_faster) {
  UsualStep usual;
  for (int step = 0; step < 40; ++step) usual.add(4, 2);
  for (int step = 0; step < 40; ++step) usual.add(4, 1);
  EXPECT_DOUBLE_EQ(*usual.seconds(4), 1);
}

TEST(UsualStep, goes_with_the_share_where_no_step_had_it) {
  UsualStep usual;
  usual.add(4, 1);
  usual.add(100, 100);
  EXPECT_DOUBLE_EQ(*usual.seconds(6), 1.5);
  usual.add(6, 1.25);
  EXPECT_DOUBLE_EQ(*usual.seconds(6), 1.25);
}

}  // namespace
}  // namespace tenax::resilience
