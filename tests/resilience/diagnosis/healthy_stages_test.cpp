// What is healthy belongs to stages, and is kept for who comes there.
#include "resilience/diagnosis/healthy_stages.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

RankReport healthy(double compute_s, double tensor_s = 0) {
  return {.now = {}, .healthy = {.compute_s = compute_s, .tensor_s = tensor_s}};
}

TEST(HealthyStages, give_a_rank_that_has_moved_what_others_of_its_stage_took) {
  HealthyStages stages;
  const std::vector<RankReport> before = {healthy(1), healthy(2), healthy(4), healthy(3)};
  stages.learn(before, parallel::ProcessGrid({.pipeline = 2, .data = 2}));
  std::vector<RankReport> reports = {healthy(0), healthy(2), healthy(4), healthy(0)};
  const parallel::ProcessGrid moved({.pipeline = 2, .data = 2}, {3, 1, 2, 0}, 1);
  stages.learn(reports, moved);
  stages.complete(reports, moved);
  EXPECT_EQ(reports[0].healthy.compute_s, 4) << "rank 2, which stayed, says it";
  EXPECT_EQ(reports[1].healthy.compute_s, 2);
  EXPECT_EQ(reports[2].healthy.compute_s, 4);
  EXPECT_EQ(reports[3].healthy.compute_s, 2);
}

TEST(HealthyStages, keep_what_was_known_of_a_stage_that_all_have_left) {
  HealthyStages stages;
  stages.learn({healthy(1), healthy(2)}, parallel::ProcessGrid({.pipeline = 2}));
  const parallel::ProcessGrid moved({.pipeline = 2}, {1, 0}, 1);
  for (int vote = 0; vote < 3; ++vote) {
    std::vector<RankReport> reports(2);
    stages.learn(reports, moved);
    stages.complete(reports, moved);
    EXPECT_EQ(reports[0].healthy.compute_s, 2);
    EXPECT_EQ(reports[1].healthy.compute_s, 1);
  }
}

TEST(HealthyStages, know_a_tensor_group_s_transfers_by_the_rank_that_waits_least) {
  HealthyStages stages;
  stages.learn({healthy(1, 9), healthy(2, 5), healthy(1, 8), healthy(1, 7)},
               parallel::ProcessGrid({.tensor = 2, .pipeline = 2}));
  std::vector<RankReport> reports(4);
  stages.complete(reports, parallel::ProcessGrid({.tensor = 2, .pipeline = 2}, {2, 3, 0, 1}, 1));
  EXPECT_EQ(reports[0].healthy.tensor_s, 7);
  EXPECT_EQ(reports[1].healthy.tensor_s, 7);
  EXPECT_EQ(reports[2].healthy.tensor_s, 5);
}

TEST(HealthyStages, tell_nothing_before_they_have_heard_anything) {
  std::vector<RankReport> reports(1);
  HealthyStages().complete(reports, parallel::ProcessGrid({}));
  EXPECT_EQ(reports[0], RankReport{});
}

}  // namespace
}  // namespace tenax::resilience
