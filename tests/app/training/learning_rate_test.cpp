#include "app/training/learning_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tenax::app {
namespace {

io::OptimizerSection optimizer(const std::string& schedule) {
  io::OptimizerSection section;
  section.lr = 1.0;
  section.min_lr = 0.2;
  EXPECT_TRUE(section.lr_schedule.set(schedule));
  section.lr_warmup_steps = 4;
  section.lr_decay_steps = 12;
  return section;
}

TEST(LearningRate, warms_up_linearly_to_the_peak) {
  for (const char* schedule : {"constant", "linear", "cosine"}) {
    EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer(schedule), 0), 0.25);
    EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer(schedule), 3), 1.0);
    EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer(schedule), 4), 1.0);
  }
}

TEST(LearningRate, falls_as_its_schedule_says) {
  EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer("constant"), 8), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer("linear"), 6), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer("linear"), 8), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer("cosine"), 8), 0.6);
  EXPECT_NEAR(learning_rate_of_step(optimizer("cosine"), 6), 0.2 + 0.8 * (1 + std::sqrt(0.5)) / 2, 1e-12);
}

TEST(LearningRate, stays_at_the_minimum_from_the_decay_step_on) {
  EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer("cosine"), 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer("linear"), 1000), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_of_step(optimizer("constant"), 1000), 1.0);
  auto section = optimizer("cosine");
  section.lr_decay_steps = 2;  // before the end of the warm-up
  EXPECT_DOUBLE_EQ(learning_rate_of_step(section, 3), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_of_step(section, 4), 0.2);
}

}  // namespace
}  // namespace tenax::app
