#include "app/machine/host_check.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

TEST(Crowding, ranks_that_share_all_cores_of_a_host_are_counted_against_these) {
  EXPECT_FALSE(crowding_of({"a 2 0 1", "a 2 0 1"}).is_crowded());
  const Crowding crowding = crowding_of({"a 2 0 1", "a 2 0 1", "a 2 0 1", "a 2 0 1"});
  EXPECT_TRUE(crowding.is_crowded());
  EXPECT_EQ(crowding.ranks, 4);
  EXPECT_EQ(crowding.cores, 2);
}

TEST(Crowding, ranks_that_are_bound_to_a_core_each_are_not_crowded) {
  EXPECT_FALSE(crowding_of({"a 1 0", "a 1 1", "a 1 2"}).is_crowded());
  EXPECT_TRUE(crowding_of({"a 1 0", "a 1 1", "a 1 1"}).is_crowded());
}

TEST(Crowding, a_control_groups_share_of_time_counts_for_all_ranks_together) {
  EXPECT_TRUE(crowding_of({"a 2 0 1 2 3", "a 2 0 1 2 3", "a 2 0 1 2 3"}).is_crowded());
  EXPECT_FALSE(crowding_of({"a 2 0 1 2 3", "a 2 0 1 2 3"}).is_crowded());
}

TEST(Crowding, the_most_crowded_host_decides) {
  const Crowding crowding = crowding_of({"a 4 0 1 2 3", "b 1 0", "b 1 0", "a 4 0 1 2 3"});
  EXPECT_EQ(crowding.ranks, 2);
  EXPECT_EQ(crowding.cores, 1);
}

TEST(Crowding, each_thread_of_a_rank_wants_a_core) {
  const Crowding crowding = crowding_of({"a 4 0 1 2 3", "a 4 0 1 2 3"});
  EXPECT_FALSE(crowding.is_crowded(2));
  EXPECT_TRUE(crowding.is_crowded(3));
}

TEST(Crowding, other_replicas_on_the_host_share_its_cores) {
  EXPECT_FALSE(crowding_of({"a 4 0 1 2 3"}, 4).is_crowded());
  const Crowding crowding = crowding_of({"a 4 0 1 2 3", "a 4 0 1 2 3"}, 3);
  EXPECT_TRUE(crowding.is_crowded());
  EXPECT_EQ(crowding.ranks, 6);
  EXPECT_EQ(crowding.cores, 4);
}

TEST(Crowding, a_rank_tells_of_cores_that_it_may_use) {
  EXPECT_FALSE(crowding_of({cores_text("here")}).is_crowded());
}

TEST(Crowding, what_a_rank_has_garbled_is_no_number_of_cores) {
  for (const char* const text : {"a", "a two 0 1", "a 2 0 one", "a 2 0  1"})
    EXPECT_THROW(crowding_of({text}), kernels::Error) << text;
}

}  // namespace
}  // namespace tenax::app
