#include "resilience/diagnosis/suspects.hpp"

#include <gtest/gtest.h>

#include "tests/resilience/diagnosis/made_up_ranks.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;
using Words = std::vector<std::string>;

Words found(const MadeUpFaults& faults, std::uint32_t seed = 1) {
  return words_of(MadeUpRanks(kSixteenRanks, seed).suspects(faults));
}

// Ranks: tensor fastest, then data, then stage.
std::vector<SlowLink> pairs(GroupKind kind, double delay_s) {
  std::vector<SlowLink> links;
  for (int rank = 0; rank < kSixteenRanks.ranks(); ++rank) {
    const int other = kind == GroupKind::tensor ? rank + 1 : rank + 8;
    if (kind == GroupKind::tensor ? rank % 2 == 0 : rank < 8)
      links.push_back({.group = kind, .rank = rank, .other = other, .delay_s = delay_s});
  }
  return links;
}

TEST(Suspects, are_nothing_where_passes_jitter) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) EXPECT_EQ(found({}, seed), Words{}) << seed;
}

TEST(Suspects, are_the_one_slow_rank) {
  for (int rank = 0; rank < kSixteenRanks.ranks(); ++rank)
    for (const double factor : {1.3, 1.5, 2.0, 5.0}) {
      MadeUpRanks ranks(kSixteenRanks, static_cast<std::uint32_t>(rank + 1));
      const Suspects suspects = ranks.suspects({.compute = {{rank, factor}}});
      ASSERT_EQ(words_of(suspects), Words{"rank " + std::to_string(rank) + " compute"}) << factor;
      EXPECT_NEAR(suspects.components.front().factor, factor, 0.05 * factor);
      EXPECT_NEAR(suspects.components.front().healthy_s, 0.12, 0.005);
      EXPECT_EQ(suspects.count(), 1U);
    }
}

TEST(Suspects, are_the_one_slow_link_of_a_tensor_pair_or_a_pipeline) {
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::pipeline})
    for (const double delay_s : {0.002, 0.02})
      for (const SlowLink& link : pairs(kind, delay_s)) {
        const Suspects suspects = MadeUpRanks(kSixteenRanks).suspects({.links = {link}});
        ASSERT_EQ(words_of(suspects), Words{std::string(name_of(kind)) + " link " +
                                            std::to_string(link.rank) + "-" + std::to_string(link.other)});
        EXPECT_GT(suspects.components.front().factor, 5);
        EXPECT_EQ(suspects.components.front().cause, SlowCause::link);
      }
}

TEST(Suspects, are_a_group_of_more_than_two_of_which_a_link_is_slow) {
  const Suspects suspects =
      MadeUpRanks(kSixteenRanks)
          .suspects({.links = {{.group = GroupKind::data, .rank = 3, .other = 5, .delay_s = 0.005}}});
  ASSERT_EQ(words_of(suspects), Words{"data group 1 3 5 7"});
  EXPECT_NEAR(suspects.groups.front().factor, 3, 0.1);
  EXPECT_EQ(suspects.count(), 4U);
}

TEST(Suspects, are_both_of_two_at_once) {
  struct Case {
    MadeUpFaults faults;
    Words words;
  };
  const SlowLink tensor{.group = GroupKind::tensor, .rank = 4, .other = 5, .delay_s = 0.002};
  const SlowLink later_tensor{.group = GroupKind::tensor, .rank = 14, .other = 15, .delay_s = 0.004};
  const SlowLink data{.group = GroupKind::data, .rank = 0, .other = 2, .delay_s = 0.005};
  const SlowLink later_data{.group = GroupKind::data, .rank = 9, .other = 11, .delay_s = 0.005};
  const SlowLink pipeline{.group = GroupKind::pipeline, .rank = 2, .other = 10, .delay_s = 0.01};
  const SlowLink later_pipeline{.group = GroupKind::pipeline, .rank = 7, .other = 15, .delay_s = 0.02};
  const std::vector<Case> cases = {
      {{.compute = {{2, 1.5}, {3, 1.5}}}, {"rank 2 compute", "rank 3 compute"}},
      {{.compute = {{2, 1.3}, {6, 5}}}, {"rank 2 compute", "rank 6 compute"}},
      {{.compute = {{1, 2}, {12, 1.3}}}, {"rank 1 compute", "rank 12 compute"}},
      {{.links = {tensor, later_tensor}}, {"tensor link 4-5", "tensor link 14-15"}},
      {{.links = {pipeline, later_pipeline}}, {"pipeline link 2-10", "pipeline link 7-15"}},
      {{.links = {data, later_data}}, {"data group 0 2 4 6", "data group 9 11 13 15"}},
      {{.compute = {{4, 1.5}}, .links = {tensor}}, {"rank 4 compute", "tensor link 4-5"}},
      {{.compute = {{0, 3}}, .links = {data}}, {"rank 0 compute", "data group 0 2 4 6"}},
      {{.compute = {{10, 2}}, .links = {pipeline}}, {"rank 10 compute", "pipeline link 2-10"}},
      {{.links = {tensor, pipeline}}, {"tensor link 4-5", "pipeline link 2-10"}},
      {{.links = {data, pipeline}}, {"pipeline link 2-10", "data group 0 2 4 6"}},
      {{.links = {data, tensor}}, {"tensor link 4-5", "data group 0 2 4 6"}}};
  for (std::uint32_t seed = 1; seed <= 5; ++seed)
    for (const Case& one : cases) EXPECT_EQ(found(one.faults, seed), one.words) << seed;
}

// Their jitter is five times as long, and so is the wait of whoever is first.
TEST(Suspects, are_no_link_between_two_very_slow_ranks) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(found({.compute = {{2, 5}, {3, 5}}}, seed), (Words{"rank 2 compute", "rank 3 compute"}))
        << seed;
}

TEST(Suspects, are_no_rank_that_always_was_slower) {
  MadeUpRanks ranks(kSixteenRanks);
  ranks.speed[5] = 1.4;
  EXPECT_EQ(words_of(ranks.suspects({})), Words{});
  EXPECT_EQ(words_of(ranks.suspects({.compute = {{9, 1.5}}})), Words{"rank 9 compute"});
  const Suspects slower = ranks.suspects({.compute = {{5, 1.5}}});
  ASSERT_EQ(words_of(slower), Words{"rank 5 compute"});
  EXPECT_NEAR(slower.components.front().factor, 1.5, 0.05) << "against its own history";
}

TEST(Suspects, are_common_where_all_became_slower_alike) {
  MadeUpFaults compute, network;
  for (int rank = 0; rank < kSixteenRanks.ranks(); ++rank) compute.compute[rank] = 1.5;
  for (const int rank : {0, 1, 8, 9})
    network.links.push_back({.group = GroupKind::data, .rank = rank, .other = rank + 2, .delay_s = 0.005});
  EXPECT_EQ(found(compute), Words{"common"});
  EXPECT_EQ(found(network), Words{"common"});
  compute.links = {{.group = GroupKind::tensor, .rank = 4, .other = 5, .delay_s = 0.004}};
  EXPECT_EQ(found(compute), Words{"tensor link 4-5"}) << "it is more than what all share";
}

TEST(Suspects, are_all_ranks_of_a_stage_that_became_slower) {
  MadeUpRanks ranks({.pipeline = 2, .data = 2});
  EXPECT_EQ(words_of(ranks.suspects({.compute = {{2, 1.5}, {3, 1.5}}})),
            (Words{"rank 2 compute", "rank 3 compute"}));
}

TEST(Suspects, without_peers_have_their_own_history) {
  MadeUpRanks pipeline({.pipeline = 4});
  EXPECT_EQ(words_of(pipeline.suspects({})), Words{});
  EXPECT_EQ(words_of(pipeline.suspects({.compute = {{2, 1.5}}})), Words{"rank 2 compute"});
  EXPECT_EQ(words_of(pipeline.suspects({.compute = {{0, 1.5}, {1, 1.5}, {2, 1.5}, {3, 1.5}}})),
            Words{"common"});
  EXPECT_EQ(words_of(pipeline.suspects({.compute = {{0, 1.5}, {1, 2}}})),
            (Words{"rank 0 compute", "rank 1 compute"}));
  EXPECT_EQ(words_of(MadeUpRanks({}).suspects({.compute = {{0, 1.5}}})), Words{"rank 0 compute"});
  const SlowLink slow{.rank = 0, .other = 1, .delay_s = 0.01};
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::pipeline, GroupKind::data}) {
    SlowLink link = slow;
    link.group = kind;
    MadeUpRanks two({.tensor = kind == GroupKind::tensor ? 2 : 1,
                     .pipeline = kind == GroupKind::pipeline ? 2 : 1,
                     .data = kind == GroupKind::data ? 2 : 1});
    EXPECT_EQ(words_of(two.suspects({.links = {link}})), Words{std::string(name_of(kind)) + " link 0-1"});
  }
}

TEST(Suspects, without_history_have_their_peers) {
  MadeUpRanks ranks(kSixteenRanks), alone({.pipeline = 2});
  std::vector<RankReport> reports = ranks.reports({.compute = {{6, 1.5}}});
  for (RankReport& report : reports) report.healthy = {};
  EXPECT_EQ(words_of(find_suspects(reports, ranks.grid, {.healthy_iteration_s = ranks.kIteration_s})),
            Words{"rank 6 compute"});
  reports = alone.reports({.compute = {{1, 5}}});
  for (RankReport& report : reports) report.healthy = {};
  EXPECT_EQ(words_of(find_suspects(reports, alone.grid, {.healthy_iteration_s = alone.kIteration_s})),
            Words{});
}

TEST(Suspects, are_not_compared_where_their_groups_have_other_bytes) {
  MadeUpRanks ranks({.pipeline = 2, .data = 4});
  std::vector<RankReport> reports = ranks.reports({});
  for (RankReport& report : reports) report.healthy = {};
  reports[0].now.data_s *= 1.5;  // who waits says nothing
  for (std::size_t rank = 4; rank < 8; ++rank) reports[rank].now.data_s *= 2;
  const SuspectOptions options{.healthy_iteration_s = ranks.kIteration_s};
  EXPECT_EQ(words_of(find_suspects(reports, ranks.grid, options)), Words{"data group 4 5 6 7"});
  for (std::size_t rank = 4; rank < 8; ++rank) reports[rank].now.data_bytes *= 2;
  EXPECT_EQ(words_of(find_suspects(reports, ranks.grid, options)), Words{});
}

// A slow stage never waits for its gradients.
TEST(Suspects, are_no_link_of_which_only_a_bound_is_known) {
  const parallel::ProcessGrid grid({.pipeline = 2});
  const RankFigures healthy{.compute_s = 0.1, .activations_s = 0.0001, .gradients_s = 0.0001};
  std::vector<RankReport> reports(2, RankReport{.now = healthy, .healthy = healthy});
  const SuspectOptions options{.healthy_iteration_s = 0.15};
  reports[0].now.gradients_s = 0.04;
  EXPECT_EQ(words_of(find_suspects(reports, grid, options)), Words{"pipeline link 0-1"});
  reports[0].now.gradients_at_most = 1;
  EXPECT_EQ(words_of(find_suspects(reports, grid, options)), Words{});
  reports[1].now.activations_s = 0.02;
  const Suspects suspects = find_suspects(reports, grid, options);
  ASSERT_EQ(words_of(suspects), Words{"pipeline link 0-1"}) << "the other direction";
  EXPECT_DOUBLE_EQ(suspects.components.front().factor, 200);
}

TEST(Suspects, are_a_link_of_which_one_direction_was_only_bounded_and_the_other_has_become_slow) {
  const parallel::ProcessGrid grid({.pipeline = 2});
  std::vector<RankReport> reports(2);
  reports[0].healthy = {.compute_s = 0.1, .gradients_s = 0.005, .gradients_at_most = 1};
  reports[1].healthy = {.compute_s = 0.05, .activations_s = 0.0001};
  for (RankReport& report : reports) report.now = report.healthy;
  EXPECT_EQ(words_of(find_suspects(reports, grid, {.healthy_iteration_s = 0.15})), Words{});
  reports[1].now.activations_s = 0.004;
  const Suspects suspects = find_suspects(reports, grid, {.healthy_iteration_s = 0.15});
  ASSERT_EQ(words_of(suspects), Words{"pipeline link 0-1"});
  EXPECT_DOUBLE_EQ(suspects.components.front().factor, 40);
}

TEST(Suspects, name_the_lower_rank_of_a_link_first) {
  const parallel::ProcessGrid swapped({.pipeline = 2}, {1, 0}, 1);
  std::vector<RankReport> reports(2);
  for (RankReport& report : reports) report = {.now = {.compute_s = 0.1}, .healthy = {.compute_s = 0.1}};
  reports[0].now.activations_s = 0.02;  // rank 0 is the second stage
  reports[0].healthy.activations_s = 0.001;
  EXPECT_EQ(words_of(find_suspects(reports, swapped, {.healthy_iteration_s = 0.15})),
            Words{"pipeline link 0-1"});
}

}  // namespace
}  // namespace tenax::resilience
