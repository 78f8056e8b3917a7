// Whose fault it is that a rank or a link is slow.
#include <gtest/gtest.h>

#include "tests/resilience/diagnosis/made_up_ranks.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;
using Words = std::vector<std::string>;

Suspects suspects_of(const MadeUpRanks& ranks, const std::vector<RankReport>& reports) {
  return find_suspects(reports, ranks.grid, {.healthy_iteration_s = ranks.kIteration_s});
}

TEST(CpuContention, is_the_cause_where_others_ran_on_the_rank_s_processor) {
  MadeUpRanks two({.data = 2});
  for (const double share : {0.3, 1.0}) {
    const Suspects suspects = two.suspects({.preempted_s = {{1, 0.12 * share}}});
    ASSERT_EQ(words_of(suspects), Words{"rank 1 cpu_contention"});
    EXPECT_NEAR(suspects.components.front().factor, 1 + share, 0.05);
  }
}

TEST(CpuContention, is_the_cause_where_it_explains_half_of_the_excess) {
  MadeUpRanks ranks(kSixteenRanks);
  const double excess_s = 0.06;
  std::vector<RankReport> reports = ranks.reports({.compute = {{6, 1.5}}});
  reports[6].now.preempted_s += 0.4 * excess_s;
  EXPECT_EQ(words_of(suspects_of(ranks, reports)), Words{"rank 6 compute"});
  reports[6].now.preempted_s += 0.2 * excess_s;
  EXPECT_EQ(words_of(suspects_of(ranks, reports)), Words{"rank 6 cpu_contention"});
}

TEST(CpuContention, that_always_was_is_no_cause) {
  MadeUpRanks ranks(kSixteenRanks);
  std::vector<RankReport> reports = ranks.reports({.compute = {{6, 1.5}}});
  for (RankFigures* figures : {&reports[6].now, &reports[6].healthy}) figures->preempted_s += 0.05;
  EXPECT_EQ(words_of(suspects_of(ranks, reports)), Words{"rank 6 compute"});
}

TEST(CpuContention, is_the_cause_where_others_have_a_third_of_a_rank_s_time_be_it_as_before) {
  MadeUpRanks ranks({.data = 2});
  std::vector<RankReport> reports = ranks.reports({.compute = {{1, 1.5}}});
  for (RankFigures* figures : {&reports[1].now, &reports[1].healthy}) figures->preempted_s += 0.08;
  EXPECT_EQ(words_of(suspects_of(ranks, reports)), Words{"rank 1 cpu_contention"});
  std::vector<RankReport> late = ranks.reports({});
  for (RankReport& report : late) report.now.data_s += 0.04;
  for (RankFigures* figures : {&late[1].now, &late[1].healthy}) figures->preempted_s += 0.08;
  EXPECT_EQ(words_of(suspects_of(ranks, late)), Words{"rank 1 cpu_contention"});
}

TEST(CpuContention, is_not_told_of_who_polls_for_a_rank_that_others_hold_up) {
  MadeUpRanks ranks({.data = 2});
  std::vector<RankReport> reports = ranks.reports({});
  for (RankReport& report : reports) report.now.data_s += 0.01;
  reports[0].now.preempted_s += 0.006;
  reports[1].now.preempted_s += 0.03;
  EXPECT_EQ(words_of(suspects_of(ranks, reports)), Words{"rank 1 cpu_contention"});
}

TEST(CpuContention, within_a_transfer_is_the_rank_s_not_the_link_s) {
  for (const parallel::GridShape shape :
       {parallel::GridShape{.data = 2}, parallel::GridShape{.data = 4}, parallel::GridShape{.tensor = 2},
        parallel::GridShape{.pipeline = 2}}) {
    MadeUpRanks ranks(shape);
    std::vector<RankReport> reports = ranks.reports({});
    for (RankReport& report : reports) {
      report.now.tensor_s += shape.tensor > 1 ? 0.04 : 0;
      report.now.data_s += shape.data > 1 ? 0.04 : 0;
      report.now.gradients_s += shape.pipeline > 1 ? 0.01 : 0;  // a message
    }
    reports[1].now.preempted_s += 0.03;
    const Suspects suspects = suspects_of(ranks, reports);
    ASSERT_EQ(words_of(suspects), Words{"rank 1 cpu_contention"});
    EXPECT_NEAR(suspects.components.front().factor, 1.25, 0.01) << "30 ms more than the 120 ms of its passes";
    EXPECT_NEAR(suspects.components.front().healthy_s, 0.12, 0.005);
  }
}

TEST(CpuContention, does_not_hide_a_link_that_is_slower_than_it_explains) {
  MadeUpRanks ranks({.pipeline = 2});
  std::vector<RankReport> reports =
      ranks.reports({.links = {{.group = GroupKind::pipeline, .rank = 0, .other = 1, .delay_s = 0.01}}});
  reports[1].now.preempted_s += 0.01;  // four messages are 40 ms late
  EXPECT_EQ(words_of(suspects_of(ranks, reports)), Words{"pipeline link 0-1"});
}

TEST(CpuContention, of_one_rank_is_told_once) {
  MadeUpRanks ranks(kSixteenRanks);
  std::vector<RankReport> reports = ranks.reports({.preempted_s = {{6, 0.1}}});
  for (const std::size_t rank : {6, 7}) reports[rank].now.tensor_s += 0.1;
  for (const std::size_t rank : {0, 2, 4, 6}) reports[rank].now.data_s += 0.1;
  EXPECT_EQ(words_of(suspects_of(ranks, reports)), Words{"rank 6 cpu_contention"});
}

// What compiles in bursts on all processors meets ranks unequally, in passes and in transfers.
TEST(CpuContention, by_neighbours_of_all_ranks_is_never_compute_or_link) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 noise(seed);
    std::uniform_real_distribution<double> unequal(0.02, 0.2);
    MadeUpRanks ranks({.data = 2}, seed);
    std::vector<RankReport> reports =
        ranks.reports({.preempted_s = {{0, unequal(noise)}, {1, unequal(noise)}}});
    const double least_s = std::min(reports[0].now.preempted_s, reports[1].now.preempted_s);
    for (RankReport& report : reports) report.now.data_s += least_s;
    for (const Component& component : suspects_of(ranks, reports).components)
      EXPECT_EQ(component.cause, SlowCause::cpu_contention) << seed;
  }
}

TEST(CpuContention, of_all_ranks_alike_is_common) {
  MadeUpRanks ranks({.data = 2});
  std::vector<RankReport> reports = ranks.reports({});
  for (RankReport& report : reports) report.now.preempted_s += 0.1;  // outside of passes and transfers
  EXPECT_EQ(words_of(suspects_of(ranks, reports)), Words{"common"});
  EXPECT_EQ(words_of(ranks.suspects({.preempted_s = {{0, 0.1}, {1, 0.1}}})), Words{"common"});
}

}  // namespace
}  // namespace tenax::resilience
