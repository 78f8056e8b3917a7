#include "resilience/replay/replay_difference.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "tests/resilience/replay/made_up_records.hpp"

namespace tenax::resilience {
namespace {

class Difference : public testing::Test {
 protected:
  ReplayDifference found() {
    const auto difference = find_difference(first_, second_);
    if (!difference) throw std::logic_error("both are equal");
    return *difference;
  }
  std::vector<ReplayRecord> first_ = made_up_records("alpha"), second_ = made_up_records("beta");
};

TEST_F(Difference, is_none_between_equal_runs) { EXPECT_FALSE(find_difference(first_, second_)); }

TEST_F(Difference, is_named_with_step_tensor_layer_stage_rank_and_hosts) {
  spoil(second_, 3, 2, 0, kMoment);
  const ReplayDifference difference = found();
  EXPECT_EQ(difference.step, 101);
  EXPECT_EQ(difference.point, ReplayPoint::update);
  EXPECT_EQ(difference.tensor, "h.2.ln_1.weight");
  EXPECT_EQ(difference.part, "exp_avg");
  EXPECT_EQ(difference.layer, 2);
  EXPECT_EQ(difference.stage, 1);
  EXPECT_EQ(difference.rank, 3);
  EXPECT_EQ(difference.first_host, "alpha");
  EXPECT_EQ(difference.second_host, "beta");
  EXPECT_EQ(difference.tensors, 1);
  EXPECT_EQ(difference.ranks, 1);
}

TEST_F(Difference, of_the_earliest_moment_counts) {
  for (std::size_t rank = 0; rank < 4; ++rank) spoil(second_, rank, 2, 0, kWeight);
  spoil(second_, 2, 1, 1, kWeight);
  EXPECT_EQ(found().step, 100);
  EXPECT_EQ(found().point, ReplayPoint::commit);
  EXPECT_EQ(found().rank, 2);
  EXPECT_EQ(found().tensor, "wte.weight");
  EXPECT_FALSE(found().layer.has_value());
}

// A weight that changed by itself makes all gradients others.
TEST_F(Difference, in_state_comes_before_the_gradients_that_follow_from_it) {
  for (std::size_t rank = 0; rank < 4; ++rank)
    for (std::size_t tensor = 0; tensor < 2; ++tensor) spoil(second_, rank, 2, tensor, kGradient);
  spoil(second_, 1, 2, 1, kWeight);
  EXPECT_EQ(found().part, "weight");
  EXPECT_EQ(found().rank, 1);
  EXPECT_EQ(found().layer, 0);
  EXPECT_EQ(found().tensors, 3);
  EXPECT_EQ(found().ranks, 4);
}

// The weights that one rank's passes read, which another owns.
TEST_F(Difference, in_a_copy_is_its_holders) {
  for (std::size_t rank = 0; rank < 4; ++rank) spoil(second_, rank, 0, 0, kGradient);
  spoil(second_, 1, 0, 2, kCopy);
  EXPECT_EQ(found().part, "copy");
  EXPECT_EQ(found().rank, 1);
  EXPECT_EQ(found().tensor, "h.1.ln_1.bias");
}

// A backward pass goes from the last block to the first: what is wrong from one on came in there.
TEST_F(Difference, in_gradients_is_that_of_the_last_block) {
  for (const std::size_t rank : {0U, 1U})
    for (std::size_t tensor = 0; tensor < 3; ++tensor) spoil(second_, rank, 2, tensor, kGradient);
  EXPECT_EQ(found().tensor, "h.1.ln_1.bias");
  EXPECT_EQ(found().rank, 0);
  spoil(second_, 3, 2, 0, kGradient);
  EXPECT_EQ(found().tensor, "h.2.ln_1.weight");
  EXPECT_EQ(found().rank, 3);
}

// Its first stage's part comes last of all, and is added to that of the last stage.
TEST_F(Difference, in_the_gradient_of_the_tied_embedding_follows_from_any_other) {
  for (const std::size_t rank : {2U, 3U}) spoil(second_, rank, 2, 1, kGradient);
  for (const std::size_t rank : {0U, 1U}) spoil(second_, rank, 2, 0, kGradient);
  EXPECT_EQ(found().tensor, "wte.weight");
  EXPECT_EQ(found().rank, 0);
  spoil(second_, 1, 2, 1, kGradient);
  EXPECT_EQ(found().tensor, "h.0.ln_1.weight");
  EXPECT_EQ(found().rank, 1);
}

TEST_F(Difference, after_an_update_is_in_its_owner_before_the_copies) {
  for (std::size_t rank = 0; rank < 2; ++rank) spoil(second_, rank, 3, 0, kCopy);
  spoil(second_, 1, 3, 2, kWeight);
  EXPECT_EQ(found().part, "weight");
  EXPECT_EQ(found().tensor, "h.1.ln_1.bias");
}

TEST_F(Difference, of_runs_that_are_not_alike_is_an_error) {
  second_[1].moments.pop_back();
  EXPECT_THROW(find_difference(first_, second_), kernels::Error);
  second_ = made_up_records("beta");
  second_[0].rank.tensors[0] = "wpe.weight";
  EXPECT_THROW(find_difference(first_, second_), kernels::Error);
  second_ = made_up_records("beta");
  second_.pop_back();
  EXPECT_THROW(find_difference(first_, second_), kernels::Error);
}

TEST(Layer, is_in_the_name_of_its_parameters) {
  EXPECT_EQ(layer_of("h.11.mlp.c_fc.weight"), 11);
  for (const char* name : {"wte.weight", "ln_f.bias", "h", "h.x.y", ""}) EXPECT_FALSE(layer_of(name)) << name;
}

}  // namespace
}  // namespace tenax::resilience
