// Ranks that change places while they train.
#include "app/training/grid_swap.hpp"

#include <gtest/gtest.h>

#include <array>

#include "kernels/error.hpp"
#include "tests/app/training/swap_course.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::app {
namespace {

TEST(GridSwap, every_pair_of_tensor_groups_swaps_and_swaps_back_without_a_changed_bit) {
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b) {
      const CourseResult result = run_course({.changes = {swapped(a, b), kIdentity}});
      EXPECT_TRUE(result == undisturbed()) << "groups " << a << " and " << b;
      for (int rank = 0; rank < kCourseRanks; ++rank) {
        const GridSwap::Outcome& outcome = result.outcomes[static_cast<std::size_t>(rank)];
        EXPECT_EQ(outcome.refusal, "");
        const bool moved = rank / 2 == a || rank / 2 == b;
        const int position = rank;  // at the end
        EXPECT_EQ(outcome.bytes, moved ? sizeof(float) * result.state.at(position).size() : 0);
      }
    }
}

TEST(GridSwap, a_run_ends_the_same_in_other_places_and_where_nobody_moves) {
  EXPECT_TRUE(run_course({.changes = {kIdentity, kIdentity}}) == undisturbed());
  const CourseResult result = run_course({.changes = {swapped(0, 3), {2, 3, 4, 5, 6, 7, 0, 1}}});
  EXPECT_TRUE(result == undisturbed());
  for (int rank = 0; rank < kCourseRanks; ++rank) {
    const GridSwap::Outcome& outcome = result.outcomes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(outcome.refusal, "");
    EXPECT_EQ(outcome.bytes > 0, rank / 2 != 0) << rank;  // the first group stays where it went
  }
}

TEST(GridSwap, a_swap_of_which_a_rank_has_no_memory_leaves_the_old_places_and_says_why) {
  const CourseResult result = run_course(
      {.changes = {swapped(1, 2), kIdentity}, .on_build = [](int rank, const parallel::ProcessGrid& grid) {
         if (rank == 3 && grid.generation() > 0)
           throw kernels::Error(kernels::Scope::rank, "rank 3 has no memory");
       }});
  EXPECT_TRUE(result == undisturbed());
  for (const GridSwap::Outcome& outcome : result.outcomes) EXPECT_EQ(outcome.refusal, "rank 3 has no memory");
}

TEST(GridSwap, a_swap_whose_state_does_not_come_leaves_the_old_places_and_another_may_follow) {
  const CourseResult result = run_course(
      {.changes = {swapped(0, 2), swapped(1, 3)},
       .on_send = [](int from, int, const std::string& purpose, const comm::MessageHeader& header) {
         if (from == 4 && purpose.starts_with("swap.1.") && header.payload_bytes > 0)
           throw kernels::Error(kernels::Scope::link, "the network is gone");
       }});
  EXPECT_TRUE(result == undisturbed());
  for (const GridSwap::Outcome& outcome : result.outcomes) EXPECT_EQ(outcome.refusal, "");  // the second
  const CourseResult refused = run_course(
      {.changes = {kIdentity, swapped(0, 2)},
       .on_send = [](int from, int, const std::string& purpose, const comm::MessageHeader& header) {
         if (from == 4 && purpose.starts_with("swap.2.") && header.payload_bytes > 0)
           throw kernels::Error(kernels::Scope::link, "the network is gone");
       }});
  EXPECT_TRUE(refused == undisturbed());
  for (const GridSwap::Outcome& outcome : refused.outcomes)
    EXPECT_EQ(outcome.refusal, "a swap of ranks: the state of rank 4 did not come to rank 0");
}

TEST(GridSwap, a_swap_that_is_refused_when_all_has_come_leaves_weights_and_state_as_they_were) {
  for (const io::ComputeDtype dtype : {io::ComputeDtype::fp32, io::ComputeDtype::bf16}) {
    const CourseResult quiet = run_course({.changes = std::vector<Permutation>(2), .dtype = dtype});
    const CourseResult result =
        run_course({.changes = {kIdentity, swapped(1, 2)},
                    .on_moved =
                        [](int rank, const parallel::ProcessGrid& grid) {
                          if (rank == 5 && grid.generation() == 2)
                            throw kernels::Error(kernels::Scope::rank, "rank 5 thinks better of it");
                        },
                    .on_change = [](int rank, const StateAddresses& before,
                                    const StateAddresses& after) { EXPECT_TRUE(before == after) << rank; },
                    .dtype = dtype});
    EXPECT_TRUE(result == quiet);
    for (const GridSwap::Outcome& outcome : result.outcomes)
      EXPECT_EQ(outcome.refusal, "rank 5 thinks better of it");
  }
}

TEST(GridSwap, a_rank_that_stays_keeps_its_memory_and_one_that_moves_what_the_old_place_can_spare) {
  const auto check = [](int rank, const StateAddresses& before, const StateAddresses& after) {
    const bool moves = rank / 2 == 1 || rank / 2 == 2;
    EXPECT_EQ(after.weights, moves ? before.gradients : before.weights);
    EXPECT_EQ(after.gradients, moves ? before.weights : before.gradients);
    EXPECT_EQ(after.moments != before.moments, moves);
  };
  EXPECT_TRUE(run_course({.changes = {swapped(1, 2), kIdentity}, .on_change = check}) == undisturbed());
}

TEST(GridSwap, a_second_state_that_is_kept_takes_what_moves_and_then_what_moves_back) {
  for (const io::ComputeDtype dtype : {io::ComputeDtype::fp32, io::ComputeDtype::bf16}) {
    std::array<const void*, kCourseRanks> at_first = {};
    const auto check = [&](int rank, const StateAddresses& before, const StateAddresses& after) {
      const void*& first = at_first[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(!first || after.moments == first);
      first = before.moments;
      EXPECT_EQ(after.moments != before.moments, rank / 2 == 1 || rank / 2 == 2);
    };
    const CourseResult result = run_course(
        {.changes = {swapped(1, 2), kIdentity}, .on_change = check, .dtype = dtype, .keeps_spare = true});
    EXPECT_TRUE(result == run_course({.changes = std::vector<Permutation>(2), .dtype = dtype}));
  }
}

TEST(GridSwap, master_weights_apart_from_the_weights_move_without_a_changed_bit) {
  const io::ComputeDtype bf16 = io::ComputeDtype::bf16;
  EXPECT_TRUE(run_course({.changes = {swapped(0, 3), swapped(1, 2)}, .dtype = bf16}) ==
              run_course({.changes = std::vector<Permutation>(2), .dtype = bf16}));
}

TEST(GridSwap, ranks_of_an_asynchronous_device_swap_without_a_changed_bit) {
  const auto stand_in = [] { return kernels::test::create_stand_in({.jitter_us = 200}); };
  const auto on_stand_in = [&](const std::vector<Permutation>& changes) {
    return run_course({.changes = changes, .create_device = stand_in});
  };
  EXPECT_TRUE(on_stand_in({swapped(1, 2), swapped(0, 3)}) == on_stand_in(std::vector<Permutation>(2)));
}

TEST(GridSwap, what_is_no_permutation_is_refused) {
  const CourseResult result = run_course({.changes = {{0, 0, 2, 3, 4, 5, 6, 7}, kIdentity}});
  EXPECT_TRUE(result == undisturbed());
}

}  // namespace
}  // namespace tenax::app
