// What has been told to be slow is followed by reports, and by tests where these say nothing.
#include "resilience/diagnosis/followed_components.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

constexpr double kIteration_s = 0.1;

TEST(ProbeSchedule, is_due_20_40_and_so_on_to_640_steps_after_the_last_test) {
  ProbeSchedule schedule(100);
  std::vector<std::int64_t> tests;
  for (std::int64_t step = 101; tests.size() < 8; ++step) {
    if (!schedule.is_due(step)) continue;
    tests.push_back(step);
    schedule.on_probe(step);
  }
  EXPECT_EQ(tests, (std::vector<std::int64_t>{120, 160, 240, 400, 720, 1360, 2000, 2640}));
}

/// Data 4, whose link 1-2 has been told in iteration 10.
class FollowedLink : public testing::Test {
 protected:
  FollowedLink() { followed.add(link, 10, reports, grid, kIteration_s); }

  std::vector<Healed> follow(std::int64_t iteration) { return followed.follow(iteration, reports, grid); }
  PairResult result(double factor, bool is_slow) const {
    return {.test = {.group = GroupKind::data, .rank = 1, .other = 2}, .factor = factor, .is_slow = is_slow};
  }

  static constexpr RankFigures kFigures{.compute_s = 0.08, .data_s = 0.02, .data_bytes = 1e6};
  const Component link{.kind = Component::Kind::link,
                       .rank = 1,
                       .other = 2,
                       .group = GroupKind::data,
                       .cause = SlowCause::link,
                       .factor = 4};
  const parallel::ProcessGrid grid{{.data = 4}};
  std::vector<RankReport> reports{4, {.now = kFigures, .healthy = kFigures}};
  bool is_used = true;
  FollowedComponents followed{[this](const Component&) { return is_used; }};
};

TEST_F(FollowedLink, is_followed_by_its_group_while_messages_use_it) {
  for (RankReport& report : reports) report.now.data_s = 0.05;
  for (std::int64_t iteration = 11; iteration < 100; ++iteration) {
    EXPECT_TRUE(follow(iteration).empty());
    EXPECT_TRUE(followed.due(iteration).empty());
  }
  for (RankReport& report : reports) report.now.data_s = 0.021;
  const std::vector<Healed> healed = follow(100);
  ASSERT_EQ(healed.size(), 1U);
  EXPECT_EQ(healed[0].slow_steps, 90);
  EXPECT_TRUE(followed.is_empty());
}

TEST_F(FollowedLink, has_not_healed_because_messages_avoid_it) {
  is_used = false;
  std::vector<std::int64_t> tests;
  for (std::int64_t iteration = 11; iteration < 200; ++iteration) {
    EXPECT_TRUE(follow(iteration).empty()) << "the group is fast again";
    if (followed.due(iteration).empty()) continue;
    tests.push_back(iteration);
    EXPECT_TRUE(followed.take_probes(iteration, {result(3, true)}).empty());
    EXPECT_EQ(followed.all().at(0).factor, 3);
  }
  EXPECT_EQ(tests, (std::vector<std::int64_t>{30, 70, 150}));
}

TEST_F(FollowedLink, has_healed_when_a_test_says_so) {
  is_used = false;
  for (std::int64_t iteration = 11; iteration < 30; ++iteration) follow(iteration);
  ASSERT_EQ(followed.due(30).size(), 1U);
  PairResult other = result(1, false);
  other.test.other = 3;
  EXPECT_TRUE(followed.take_probes(30, {other}).empty()) << "that is another link";
  EXPECT_TRUE(followed.take_probes(69, {result(1, false)}).empty()) << "nobody asked";
  const std::vector<Healed> healed = followed.take_probes(70, {other, result(1.02, false)});
  ASSERT_EQ(healed.size(), 1U);
  EXPECT_EQ(healed[0].component.factor, 1.02);
  EXPECT_EQ(healed[0].slow_steps, 60);
  EXPECT_TRUE(followed.is_empty());
}

TEST_F(FollowedLink, is_followed_by_its_group_again_when_messages_come_back) {
  is_used = false;
  for (RankReport& report : reports) report.now.data_s = 0.05;
  for (std::int64_t iteration = 11; iteration < 29; ++iteration) follow(iteration);
  is_used = true;
  follow(29);
  EXPECT_TRUE(followed.due(30).empty());
  is_used = false;
  follow(31);
  EXPECT_TRUE(followed.due(49).empty());
  EXPECT_EQ(followed.due(50).size(), 1U);
}

TEST_F(FollowedLink, explains_that_its_group_is_slow_while_messages_use_it) {
  const auto explains = [this] {
    Suspects suspects;
    suspects.groups = {{.kind = GroupKind::data, .ranks = {0, 1, 2, 3}}};
    return followed.leave_out(suspects, 1.1, reports, grid) && suspects.count() == 0;
  };
  EXPECT_TRUE(explains());
  for (RankReport& report : reports) report.now.data_s *= 2;
  EXPECT_FALSE(explains()) << "it is slower than was told";
  for (RankReport& report : reports) report.now.data_s /= 2;
  is_used = false;
  EXPECT_FALSE(explains()) << "another link is slow";
}

TEST_F(FollowedLink, is_tested_where_nobody_knows_what_is_healthy) {
  for (RankReport& report : reports) report.healthy = {};
  follow(11);
  EXPECT_EQ(followed.due(30).size(), 1U);
}

/// Data 4 or 2, whose rank 1 has been told in iteration 10: it computed three times as long.
class FollowedRank : public testing::TestWithParam<int> {
 protected:
  FollowedRank() {
    compute(1, 3);
    followed.add({.kind = Component::Kind::rank, .rank = 1, .cause = SlowCause::compute}, 10, reports, grid,
                 kIteration_s);
  }
  void compute(int rank, double factor) {
    reports[static_cast<std::size_t>(rank)].now.compute_s = 0.08 * factor;
  }
  void all_compute(double factor) {
    for (int rank = 0; rank < GetParam(); ++rank) compute(rank, factor);
  }
  bool heals(std::int64_t iteration) { return followed.follow(iteration, reports, grid).size() == 1; }

  const parallel::ProcessGrid grid{{.data = GetParam()}};
  std::vector<RankReport> reports{static_cast<std::size_t>(GetParam()),
                                  {.now = {.compute_s = 0.08}, .healthy = {.compute_s = 0.08}}};
  FollowedComponents followed{[](const Component&) { return true; }};
};

TEST_P(FollowedRank, has_healed_when_it_is_as_fast_as_it_was) {
  EXPECT_FALSE(heals(11));
  compute(1, 1.2);
  EXPECT_FALSE(heals(12));
  compute(1, 1.05);
  EXPECT_TRUE(heals(13));
}

TEST_P(FollowedRank, has_healed_though_the_machine_has_become_slower_meanwhile) {
  all_compute(1.3);
  compute(1, 3 * 1.3);
  EXPECT_FALSE(heals(11));
  compute(1, 1.3);
  EXPECT_TRUE(heals(12));
}

TEST_P(FollowedRank, has_not_healed_because_others_are_as_slow) {
  all_compute(3);
  EXPECT_FALSE(heals(11));
}

TEST_P(FollowedRank, that_has_become_less_slow_is_told_so_after_eight_reports) {
  const auto eased = [this] { return followed.ease(1.1, reports, grid); };
  for (const double factor : {3.0, 1.3, 3.0, 1.3}) {
    compute(1, factor);
    for (int i = 0; i < 7; ++i) EXPECT_TRUE(eased().empty()) << "it may be chance";
  }
  const std::vector<Component> told = eased();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NEAR(told[0].factor, 1.3, 1e-9);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(eased().empty()) << "that is known";
  EXPECT_FALSE(heals(12));
}

TEST_P(FollowedRank, that_has_become_less_slow_and_then_slower_again_is_not_as_it_was_told) {
  compute(1, 1.3);
  for (int i = 0; i < 8; ++i) followed.ease(1.1, reports, grid);
  const auto is_as_told = [this] {
    Suspects suspects{.components = {{.rank = 1}}, .groups = {}};
    return followed.leave_out(suspects, 1.1, reports, grid);
  };
  EXPECT_TRUE(is_as_told());
  compute(1, 3);
  EXPECT_FALSE(is_as_told());
}

INSTANTIATE_TEST_SUITE_P(of, FollowedRank, testing::Values(2, 4));

/// One rank, or link, of which little is too long: told in iteration 10 of 100 ms.
class FollowedTrifle : public testing::Test {
 protected:
  bool heals(const Component& component, double RankFigures::*figure, double told_s, double now_s) {
    const parallel::ProcessGrid grid({.pipeline = 2});
    std::vector<RankReport> reports(2);
    reports[0].healthy = {.compute_s = 0.08, .gradients_s = 0.0002};
    reports[0].now = reports[0].healthy;
    FollowedComponents followed([](const Component&) { return true; });
    reports[0].now.*figure = told_s;
    followed.add(component, 10, reports, grid, kIteration_s);
    reports[0].now.*figure = now_s;
    reports[0].now.gradients_at_most = at_most;
    return !followed.follow(11, reports, grid).empty();
  }
  double at_most = 0;
  const Component rank{.rank = 0, .factor = 1.08};
  const Component link{
      .kind = Component::Kind::link, .rank = 0, .other = 1, .group = GroupKind::pipeline, .factor = 10};
};

TEST_F(FollowedTrifle, has_not_healed_before_half_of_its_slowness_is_gone) {
  for (const double factor : {1.06, 1.08, 1.1, 1.13}) {
    const double told_s = factor * 0.08;
    const Component told{.rank = 0, .factor = factor};
    EXPECT_FALSE(heals(told, &RankFigures::compute_s, told_s, told_s)) << factor;
    EXPECT_FALSE(heals(told, &RankFigures::compute_s, told_s, (0.3 + 0.7 * factor) * 0.08)) << factor;
    EXPECT_TRUE(heals(told, &RankFigures::compute_s, told_s, (0.7 + 0.3 * factor) * 0.08)) << factor;
  }
}

// 3 % of an iteration are noise: of each of four messages 0.75 ms.
TEST_F(FollowedTrifle, has_healed_when_no_more_than_noise_is_left) {
  EXPECT_TRUE(heals(link, &RankFigures::gradients_s, 0.002, 0.00023));
  EXPECT_TRUE(heals(link, &RankFigures::gradients_s, 0.002, 0.00055));
  EXPECT_FALSE(heals(link, &RankFigures::gradients_s, 0.002, 0.0006));
  EXPECT_FALSE(heals(link, &RankFigures::gradients_s, 0.0006, 0.00055)) << "half of it must be gone";
}

TEST_F(FollowedTrifle, has_healed_when_the_bound_of_its_delay_says_so) {
  at_most = 1;
  EXPECT_TRUE(heals(link, &RankFigures::gradients_s, 0.002, 0.00055));
  EXPECT_FALSE(heals(link, &RankFigures::gradients_s, 0.002, 0.0006));
}

TEST(FollowedComponents, heal_though_one_direction_of_a_link_was_never_more_than_bounded) {
  const parallel::ProcessGrid grid({.pipeline = 2});
  std::vector<RankReport> reports(2);
  reports[0].healthy = {.gradients_s = 0.005, .gradients_at_most = 1};
  reports[0].now = reports[0].healthy;
  reports[1].healthy.activations_s = 0.0002;
  reports[1].now.activations_s = 0.004;
  FollowedComponents followed([](const Component&) { return true; });
  followed.add({.kind = Component::Kind::link, .other = 1, .group = GroupKind::pipeline, .factor = 20}, 10,
               reports, grid, kIteration_s);
  EXPECT_TRUE(followed.follow(11, reports, grid).empty());
  reports[1].now.activations_s = 0.0002;
  EXPECT_EQ(followed.follow(12, reports, grid).size(), 1U);
}

TEST(FollowedComponents, take_no_bound_for_the_delay_of_a_link) {
  const parallel::ProcessGrid grid({.pipeline = 2});
  const Component link{.kind = Component::Kind::link, .other = 1, .group = GroupKind::pipeline, .factor = 10};
  std::vector<RankReport> reports(2);
  reports[0].healthy.gradients_s = 0.0002;
  reports[0].now.gradients_s = 0.002;
  FollowedComponents followed([](const Component&) { return true; });
  followed.add(link, 10, reports, grid, kIteration_s);
  const auto reports_are = [&](double gradients_s, double at_most) {
    reports[0].now = {.gradients_s = gradients_s, .gradients_at_most = at_most};
  };
  const auto is_as_told = [&] {
    Suspects suspects{.components = {link}, .groups = {}};
    return followed.leave_out(suspects, 1.1, reports, grid);
  };
  reports_are(0.04, 1);
  EXPECT_TRUE(is_as_told());
  reports_are(0.001, 1);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(followed.ease(1.1, reports, grid).empty()) << i;
  reports_are(0.04, 1);
  reports[1].now.activations_s = 0.0002;  // the other direction says nothing of the slow one
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(followed.ease(1.1, reports, grid).empty()) << i;
  reports_are(0.001, 0);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(followed.ease(1.1, reports, grid).empty()) << i;
  EXPECT_EQ(followed.ease(1.1, reports, grid).size(), 1U);
}

/// Pipeline 2, data 2: stage 1 has twice the work. Rank 3, there, has been told: it takes twice as long.
class FollowedThroughASwap : public testing::Test {
 protected:
  FollowedThroughASwap() {
    for (std::size_t rank = 0; rank < 4; ++rank) {
      reports[rank].healthy.compute_s = rank < 2 ? 0.02 : 0.04;
      reports[rank].now = reports[rank].healthy;
    }
    reports[3].now.compute_s = 0.08;
    followed.add(slow, 10, reports, launch, kIteration_s);
    std::swap(reports[1].healthy, reports[3].healthy);
  }
  /// Whether its slowness at its new place is nothing new.
  bool is_as_told(double compute_s) {
    reports[3].now.compute_s = compute_s;
    Suspects suspects{.components = {slow}, .groups = {}};
    return followed.leave_out(suspects, 1.1, reports,
                              parallel::ProcessGrid({.pipeline = 2, .data = 2}, {0, 3, 2, 1}, 1));
  }

  const Component slow{.rank = 3, .factor = 2};
  const parallel::ProcessGrid launch{{.pipeline = 2, .data = 2}};
  std::vector<RankReport> reports{4};
  FollowedComponents followed{[](const Component&) { return true; }};
};

TEST_F(FollowedThroughASwap, is_as_slow_as_was_told_where_it_takes_as_many_times_its_new_stage_s_work) {
  EXPECT_TRUE(is_as_told(0.04));
  EXPECT_FALSE(is_as_told(0.08)) << "four times as long: it has become slower";
}

TEST_F(FollowedLink, tells_nothing_of_a_rank_by_tests) {
  followed.add({.kind = Component::Kind::rank, .rank = 3}, 10, reports, grid, kIteration_s);
  is_used = false;
  reports[3].now.compute_s = 0.2;
  follow(11);
  ASSERT_EQ(followed.due(30).size(), 1U);
  EXPECT_TRUE(followed.due(30)[0].is_link());
}

}  // namespace
}  // namespace tenax::resilience
