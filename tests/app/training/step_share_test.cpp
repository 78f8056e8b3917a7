// What a replica computes of a step: the usual, more or less for long, or something of its own.
#include "app/training/step_share.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

constexpr std::int64_t kUsual = 4;

StepRound round_of(std::int64_t samples) { return {.samples = {.first = 0, .count = samples}}; }

class ShareOfFour : public testing::Test {
 protected:
  void step(std::int64_t samples, bool is_apart = false) { share.begin({round_of(samples)}, is_apart); }
  StepShare share{kUsual};
};

TEST_F(ShareOfFour, is_the_usual_one_where_there_are_no_others) {
  EXPECT_TRUE(share.is_usual());
  EXPECT_FALSE(share.is_exceptional());
  EXPECT_EQ(share.load(), 1);
  EXPECT_FALSE(share.take_change());
}

TEST_F(ShareOfFour, that_is_smaller_in_every_step_masks_none_but_the_first) {
  step(3, true);
  EXPECT_TRUE(share.is_exceptional());
  for (int i = 0; i < 10; ++i) {
    step(3);
    EXPECT_FALSE(share.is_exceptional());
    EXPECT_FALSE(share.is_usual()) << "the adaptation plans for other microbatches";
    EXPECT_EQ(share.load(), 0.75);
    EXPECT_FALSE(share.take_change());
  }
}

TEST_F(ShareOfFour, that_grows_with_a_death_begins_a_level_once) {
  step(4);
  share.begin({round_of(4), round_of(2)}, true);  // the step in which another one died
  EXPECT_TRUE(share.is_exceptional());
  EXPECT_EQ(share.load(), 1.5);
  EXPECT_FALSE(share.take_change());
  step(6);
  EXPECT_FALSE(share.is_exceptional());
  EXPECT_TRUE(share.take_change());
  step(6);
  EXPECT_FALSE(share.take_change());
  EXPECT_EQ(share.load(), 1.5);
}

TEST_F(ShareOfFour, that_changes_in_a_step_which_is_repeated_is_told_when_it_counts) {
  step(4);
  step(6);
  share.begin({}, true);  // all of it has been computed
  EXPECT_TRUE(share.is_exceptional());
  EXPECT_EQ(share.load(), 1);
  EXPECT_TRUE(share.take_change());
}

TEST_F(ShareOfFour, of_one_exceptional_step_is_no_level) {
  step(4);
  step(5, true);
  step(4);
  EXPECT_FALSE(share.take_change());
}

TEST_F(ShareOfFour, that_is_nothing_while_the_state_is_fetched_is_no_share_to_compare_with) {
  step(4);
  step(0, true);
  EXPECT_TRUE(share.is_exceptional());
  step(4);
  EXPECT_FALSE(share.take_change());
}

}  // namespace
}  // namespace tenax::app
