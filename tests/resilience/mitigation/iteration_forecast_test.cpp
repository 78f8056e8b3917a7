// What iterations would take, and what is proposed, for emulated layouts of known costs.
#include "resilience/mitigation/iteration_forecast.hpp"

#include <gtest/gtest.h>

#include "resilience/diagnosis/healthy_stages.hpp"
#include "resilience/mitigation/proposal.hpp"

namespace tenax::resilience {
namespace {

using parallel::GridShape;
using parallel::GroupKind;

constexpr double kPass_s = 0.001, kData_s = 0.004, kRest_s = 0.002;
constexpr int kMicrobatches = 12;

/// F, B and W take kPass_s on every stage, a data group kData_s, and kRest_s is left of an iteration.
struct MadeUpRun {
  explicit MadeUpRun(GridShape shape, const std::string& policy = "1f1b") {
    parallel::LayoutRequest request;
    request.model = {
        .num_layers = 8, .hidden_size = 8, .num_attention_heads = 1, .seq_length = 8, .vocab_size = 8};
    request.grid = shape;
    request.microbatch = {1, 8};
    request.microbatches = kMicrobatches;
    request.most_microbatches = 2 * kMicrobatches;
    request.policy = &parallel::policy_of_name(policy);
    request.emulated = parallel::EmulatedLoad{
        .costs = parallel::PipelineCosts::uniform(shape.pipeline, {kPass_s, kPass_s, kPass_s})};
    layout = parallel::plan_layout(request, 1, parallel::MemoryRoom(0));
    const double pipeline_s = simulate(layout.schedule, layout.costs).makespan_s;
    const RankFigures figures{.compute_s = 3 * kPass_s * kMicrobatches,
                              .data_s = shape.data > 1 ? kData_s : 0,
                              .data_bytes = shape.data > 1 ? 1e6 : 0};
    picture.layout = &layout;
    picture.reports.assign(static_cast<std::size_t>(shape.ranks()), {.now = figures, .healthy = figures});
    picture.healthy_iteration_s = pipeline_s + (shape.data > 1 ? kData_s : 0) + kRest_s;
    picture.has_rings = true;
    picture.placement = RunPlacement::at_launch(shape, kMicrobatches);
    picture.reported_places = picture.placement.group_of_place;
    run = {.allowed = {kStrategies.begin(), kStrategies.end()},
           .shape = shape,
           .microbatches = kMicrobatches,
           .most_microbatches = layout.most_microbatches,
           .rings = true,
           .swap_fits = true,
           .host_of_rank = std::vector<std::string>(static_cast<std::size_t>(shape.ranks()), "host")};
  }
  void slow_down(int rank, double factor) {
    picture.slow.push_back({.component = {.rank = rank, .factor = factor}});
  }
  /// As its group's reports tell of it.
  void slow_data_link_down(int rank, int other, double extra_s) {
    const parallel::ProcessGrid grid(layout.grid);
    for (const int each : grid.group(GroupKind::data, rank))
      picture.reports[static_cast<std::size_t>(each)].now.data_s += extra_s;
    const Component link{
        .kind = Component::Kind::link, .rank = rank, .other = other, .cause = SlowCause::link};
    picture.slow.push_back(slow_part(link, picture.reports, grid));
  }
  std::vector<Proposal> proposals() const {
    IterationForecast forecast(picture);
    return propose(forecast, run);
  }
  double now_s() const { return IterationForecast(picture).iteration_s(picture.placement); }

  parallel::Layout layout;
  RunPicture picture;
  Possibilities run;
};

TEST(IterationForecast, of_a_healthy_run_is_what_was_measured) {
  for (const GridShape shape : {GridShape{}, GridShape{.data = 4}, GridShape{.pipeline = 4, .data = 2}}) {
    const MadeUpRun run(shape);
    EXPECT_NEAR(run.now_s(), run.picture.healthy_iteration_s, 1e-9);
    EXPECT_TRUE(run.proposals().empty());
  }
}

TEST(IterationForecast, of_a_slow_rank_is_its_pipeline_s) {
  MadeUpRun run({.data = 4});
  run.slow_down(2, 1.5);
  EXPECT_NEAR(run.now_s(), 1.5 * 3 * kPass_s * kMicrobatches + kData_s + kRest_s, 1e-9);
}

TEST(IterationForecast, of_a_slow_rank_that_has_moved_counts_its_slowness_once) {
  MadeUpRun run({.pipeline = 2});
  run.picture.reported_places = run.picture.placement.group_of_place = {1, 0};
  run.picture.reports[1].now.compute_s *= 2;
  run.slow_down(1, 2);
  const double known_s = run.now_s();
  run.picture.reports[1].healthy = {};
  HealthyStages stages;
  stages.learn(std::vector<RankReport>(2, run.picture.reports[0]), parallel::ProcessGrid({.pipeline = 2}));
  stages.complete(run.picture.reports, parallel::ProcessGrid({.pipeline = 2}, {1, 0}, 1));
  EXPECT_NEAR(run.now_s(), known_s, 1e-9);
}

TEST(IterationForecast, of_a_slow_data_link_is_its_group_s) {
  MadeUpRun run({.data = 4});
  run.slow_data_link_down(1, 2, 0.018);
  EXPECT_NEAR(run.picture.slow[0].message_s, 0.003, 1e-9) << "six messages round a ring of four";
  EXPECT_NEAR(run.now_s(), run.picture.healthy_iteration_s + 0.018, 1e-9);
}

TEST(IterationForecast, counts_the_messages_of_all_buckets) {
  MadeUpRun run({.pipeline = 2, .data = 2});
  constexpr double kBuckets = 5, kMessage_s = 0.001;
  for (RankReport& report : run.picture.reports) report.now.data_messages = 2 * kBuckets;
  run.slow_data_link_down(0, 1, 2 * kBuckets * kMessage_s);
  EXPECT_NEAR(run.picture.slow.at(0).message_s, kMessage_s, 1e-9);
  EXPECT_NEAR(run.now_s(), run.picture.healthy_iteration_s + 2 * kBuckets * kMessage_s, 1e-9);
}

TEST(SlowPart, of_a_link_is_slow_by_what_is_known_for_sure) {
  std::vector<RankReport> reports(2);
  reports[0].healthy.gradients_s = reports[1].healthy.activations_s = 0.0001;
  reports[0].now = {.gradients_s = 0.04, .gradients_at_most = 1};
  reports[1].now.activations_s = 0.0021;
  const Component link{.kind = Component::Kind::link, .other = 1, .group = GroupKind::pipeline};
  EXPECT_NEAR(slow_part(link, reports, parallel::ProcessGrid({.pipeline = 2})).message_s, 0.002, 1e-9);
}

TEST(Proposals, share_microbatches_out_to_the_best_integer_split) {
  MadeUpRun run({.data = 4});
  run.slow_down(2, 1.7);
  const auto proposals = run.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].strategy, Strategy::microbatches);
  EXPECT_EQ(proposals[0].placement.microbatches, (std::vector<int>{14, 13, 8, 13}));
  EXPECT_NEAR(proposals[0].gain_s, (1.7 * 12 - 14) * 3 * kPass_s, 1e-9);
}

TEST(Proposals, share_less_out_where_a_rank_has_become_less_slow) {
  MadeUpRun run({.data = 2});
  run.picture.placement.microbatches = {18, 6};
  run.slow_down(1, 1.3);
  EXPECT_EQ(run.proposals().at(0).placement.microbatches, (std::vector<int>{14, 10}));
  run.picture.slow[0].component.factor = 1.02;
  EXPECT_EQ(run.proposals().at(0).placement.microbatches, (std::vector<int>{12, 12}));
}

TEST(Proposals, give_no_pipeline_more_than_it_has_memory_for) {
  MadeUpRun run({.data = 2});
  run.layout.most_microbatches = 15;
  run.slow_down(0, 8);
  EXPECT_EQ(run.proposals().at(0).placement.microbatches, (std::vector<int>{9, 15}));
}

TEST(Proposals, lead_a_ring_past_a_slow_link) {
  MadeUpRun run({.data = 4});
  run.slow_data_link_down(1, 2, 0.02);
  const auto proposals = run.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].strategy, Strategy::ring);
  EXPECT_NEAR(proposals[0].gain_s, 0.02, 1e-9);
  const std::vector<int> order = ring_of(proposals[0].placement, {});
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_FALSE(order[i] + order[(i + 1) % 4] == 3 && order[i] * order[(i + 1) % 4] == 2) << "1 beside 2";
}

TEST(Proposals, lead_several_rings_past_slow_links_at_once_where_one_alone_wins_less) {
  for (const double other_s : {0.02, 0.015}) {
    MadeUpRun run({.pipeline = 2, .data = 4});
    run.run.allowed = {Strategy::ring};
    run.slow_data_link_down(1, 2, 0.02);
    run.slow_data_link_down(5, 6, other_s);
    const auto proposals = run.proposals();
    const bool wins_alone = other_s < 0.02;
    ASSERT_EQ(proposals.size(), wins_alone ? 2U : 1U);
    if (wins_alone) {
      EXPECT_EQ(proposals[0].placement.ring_order.size(), 1U);
      EXPECT_NEAR(proposals[0].gain_s, 0.02 - other_s, 1e-9);
    }
    EXPECT_EQ(proposals.back().placement.ring_order.size(), 2U);
    EXPECT_EQ(proposals.back().against.size(), 2U);
    EXPECT_NEAR(proposals.back().gain_s, 0.02, 1e-9);
  }
}

TEST(Proposals, win_nothing_with_a_restart_where_ways_back_that_cost_nothing_win_as_much) {
  MadeUpRun run({.pipeline = 2, .data = 4});
  run.run.spare_hosts = 1;
  run.slow_data_link_down(1, 2, 0.02);
  run.picture.placement.ring_order[{}] = {0, 1, 3, 2};
  run.picture.placement.microbatches = {13, 13, 9, 13};  // of a rank that has healed
  for (const Proposal& proposal : run.proposals()) EXPECT_LT(proposal.gain_s, 1e-9);
  run.slow_down(2, 1.5);
  const auto proposals = run.proposals();
  ASSERT_FALSE(proposals.empty());
  EXPECT_EQ(proposals.back().strategy, Strategy::restart);
  EXPECT_NEAR(proposals.back().gain_s, run.now_s() - run.picture.healthy_iteration_s, 1e-9);
}

TEST(Proposals, count_for_a_restart_only_what_no_way_back_wins_for_nothing) {
  MadeUpRun run({.data = 4});
  run.run.allowed = {Strategy::restart};
  run.run.spare_hosts = 1;
  run.slow_data_link_down(1, 2, 0.02);
  run.picture.placement.microbatches = {13, 13, 9, 13};
  const auto proposals = run.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_NEAR(proposals[0].gain_s, 0.02, 1e-9);
  EXPECT_NEAR(proposals[0].returned_s, 3 * kPass_s, 1e-9);
}

TEST(Proposals, make_a_slow_data_link_a_pipeline_s_where_that_waits_less_for_it) {
  MadeUpRun run({.pipeline = 4, .data = 2}, "adaptive");
  run.slow_data_link_down(0, 1, 0.04);
  const auto proposals = run.proposals();
  ASSERT_EQ(proposals.size(), 1U) << "a ring of two has no other order";
  EXPECT_EQ(proposals[0].strategy, Strategy::swap);
  EXPECT_GT(proposals[0].gain_s, 0.01);
  EXPECT_NE(proposals[0].placement.group_of_place, run.picture.placement.group_of_place);
}

TEST(Proposals, put_slow_ranks_into_one_pipeline) {
  MadeUpRun run({.pipeline = 2, .data = 2});
  run.run.allowed = {Strategy::swap};
  run.slow_down(0, 1.5);
  run.slow_down(3, 1.5);
  const auto proposals = run.proposals();
  for (const Proposal& proposal : proposals) EXPECT_GT(proposal.gain_s, 0);
}

TEST(Proposals, know_no_help_where_all_are_slow) {
  MadeUpRun run({.data = 4});
  for (int rank = 0; rank < 4; ++rank) run.slow_down(rank, 1.7);
  EXPECT_TRUE(run.proposals().empty());
}

}  // namespace
}  // namespace tenax::resilience
