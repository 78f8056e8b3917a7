// From an onset to what is slow, and until it has healed.
#include "resilience/diagnosis/inquiry.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

constexpr double kHealthy_s = 0.1, kSlow_s = 0.15;

/// A run of data 4: reports come as the inquiry asks for them, from the ranks as they are.
class InquiryOfFour : public testing::Test {
 protected:
  InquiryOfFour() { start(io::Validate::automatic); }

  void start(io::Validate policy) {
    inquiry.emplace(parallel::ProcessGrid({.data = 4}),
                    Inquiry::Options{.suspect = 1.1,
                                     .validation = policy,
                                     .validation_s = [this](const Suspects&) { return validation_s; },
                                     .is_used = [this](const Component&) { return uses_links; }});
    for (RankReport& report : reports) report = {.now = kFigures, .healthy = kFigures};
  }

  /// One step; `change` is what its time tells.
  void step(double seconds, std::optional<Change> change = {}, bool is_masked = false) {
    const InquiryOrder asked = std::exchange(order, inquiry->order());
    if (asked.wants_reports) inquiry->take(now, reports, kHealthy_s * static_cast<double>(now));
    inquiry->add(now, kHealthy_s * static_cast<double>(now), seconds, change, false, is_masked);
    ++now;
    for (InquiryEvent& event : inquiry->take_events()) events.push_back(std::move(event));
  }
  void steps(int count, double seconds) {
    for (int i = 0; i < count; ++i) step(seconds);
  }
  Change onset() const {
    return {.iteration = now - 2, .detected_at = now, .before_s = kHealthy_s, .after_s = kSlow_s};
  }
  Change relief() const {
    return {.iteration = now - 2, .detected_at = now, .before_s = kSlow_s, .after_s = kHealthy_s};
  }
  void slow_down(int rank, double factor) {
    reports[static_cast<std::size_t>(rank)].now.compute_s = factor * kFigures.compute_s;
  }
  /// All links of the group.
  void slow_links_down(double factor) {
    for (RankReport& report : reports) report.now.data_s = factor * kFigures.data_s;
  }
  const FailSlow& told(std::size_t i) const { return std::get<FailSlow>(events.at(i)); }

  static constexpr RankFigures kFigures{.compute_s = 0.08, .data_s = 0.02, .data_bytes = 1e6};
  std::optional<Inquiry> inquiry;
  std::vector<RankReport> reports{4};
  std::vector<InquiryEvent> events;
  InquiryOrder order;
  double validation_s = 0;
  bool uses_links = true;
  std::int64_t now = 0;
};

TEST_F(InquiryOfFour, asks_for_nothing_while_nothing_is_slow) {
  steps(30, kHealthy_s);
  EXPECT_FALSE(inquiry->order().wants_reports);
  EXPECT_TRUE(events.empty());
}

TEST_F(InquiryOfFour, tells_a_slow_rank_after_two_reports_and_follows_it_until_it_has_healed) {
  steps(30, kHealthy_s);
  slow_down(2, 1.6);
  steps(2, kSlow_s);
  step(kSlow_s, onset());
  const InquiryOrder first = inquiry->order();
  EXPECT_TRUE(first.wants_reports);
  EXPECT_EQ(first.since, 30);
  EXPECT_EQ(first.healthy_before, 30);
  steps(3, kSlow_s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(told(0).cause, SlowCause::compute);
  EXPECT_FALSE(told(0).by_validation);
  ASSERT_EQ(told(0).components.size(), 1U);
  EXPECT_EQ(told(0).components[0].rank, 2);
  EXPECT_NEAR(told(0).components[0].factor, 1.6, 1e-9);
  EXPECT_NEAR(told(0).reaction_s, 5 * kHealthy_s, 1e-9);
  EXPECT_NEAR(told(0).lost_s, 5 * (kSlow_s - kHealthy_s), 1e-9);

  steps(50, kSlow_s);
  EXPECT_TRUE(inquiry->order().wants_reports);
  EXPECT_EQ(inquiry->order().healthy_before, 0);  // they know
  slow_down(2, 1.05);
  steps(1, kHealthy_s);
  ASSERT_EQ(events.size(), 2U);
  const auto& healed = std::get<Healed>(events[1]);
  EXPECT_EQ(healed.component.rank, 2);
  EXPECT_NEAR(healed.component.factor, 1.05, 1e-9);
  EXPECT_EQ(healed.slow_steps, now - 1 - 30);
  EXPECT_FALSE(inquiry->order().wants_reports);
}

TEST_F(InquiryOfFour, says_of_a_rank_that_computes_slowly_whether_its_device_is_held_back) {
  for (RankReport& report : reports) {
    add_reading(report.healthy, {.sm_clock_mhz = 1755, .temperature_c = 60, .throttled_by = {}});
    add_reading(report.now, {.sm_clock_mhz = 1755, .temperature_c = 60, .throttled_by = {}});
  }
  add_reading(reports[2].now, {.sm_clock_mhz = 1100, .temperature_c = 88, .throttled_by = {}});
  const auto find = [this](int rank) {
    steps(30, kHealthy_s);
    slow_down(rank, 1.6);
    step(kSlow_s, onset());
    steps(3, kSlow_s);
    return told(events.size() - 1).components.at(0);
  };
  const Component hot = find(2);
  EXPECT_EQ(hot.cause, SlowCause::compute);
  ASSERT_TRUE(hot.throttling);
  EXPECT_EQ(hot.throttling->clock_mhz, 1100);
  const Component other = find(1);
  EXPECT_EQ(other.rank, 1);
  EXPECT_FALSE(other.throttling);
}

TEST_F(InquiryOfFour, a_group_is_validated_once_the_loss_has_paid_for_it) {
  validation_s = 0.49;
  steps(30, kHealthy_s);
  slow_links_down(3);
  steps(2, kSlow_s);
  step(kSlow_s, onset());
  while (!inquiry->order().validates && now < 100) step(kSlow_s);
  EXPECT_EQ(now, 40);  // 0.05 s are lost in each, from step 30 on
  ASSERT_EQ(inquiry->suspects().groups.size(), 1U);
  const Component link{.kind = Component::Kind::link,
                       .rank = 1,
                       .other = 2,
                       .group = GroupKind::data,
                       .cause = SlowCause::link,
                       .factor = 4,
                       .healthy_s = 0.01};
  inquiry->conclude(now, {link}, false, 0);
  step(kSlow_s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(told(0).by_validation);
  EXPECT_EQ(told(0).cause, SlowCause::link);
  EXPECT_FALSE(inquiry->order().validates);

  slow_links_down(1);
  step(kHealthy_s);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(std::get<Healed>(events[1]).component.is_same_part(link));
}

TEST_F(InquiryOfFour, what_is_lost_adds_up_for_as_long_as_it_takes_to_pay_for_a_validation) {
  validation_s = 3;
  steps(30, kHealthy_s);
  slow_links_down(3);
  step(1.1 * kHealthy_s, onset());
  while (!inquiry->order().validates && now < 1000) step(1.1 * kHealthy_s);
  EXPECT_NEAR(static_cast<double>(now), 30 + 300, 3) << "0.01 s are lost in each";
}

TEST_F(InquiryOfFour, what_is_lost_while_a_checkpoint_is_written_pays_for_no_validation) {
  validation_s = 0.49;
  steps(30, kHealthy_s);
  slow_links_down(3);
  step(kSlow_s, onset());
  for (int i = 0; i < 20; ++i) {
    step(9, {}, true);
    EXPECT_FALSE(inquiry->order().validates) << i;
  }
  while (!inquiry->order().validates && now < 100) step(kSlow_s);
  EXPECT_EQ(now, 60) << "0.05 s are lost in each other one";
}

TEST_F(InquiryOfFour, what_never_pays_for_a_validation_is_told_as_the_profile_has_it) {
  validation_s = 1e9;
  steps(30, kHealthy_s);
  slow_links_down(3);
  step(kSlow_s, onset());
  steps(600, kSlow_s);
  EXPECT_TRUE(events.empty());
  steps(100, kSlow_s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(told(0).by_validation);
  EXPECT_EQ(told(0).components.size(), 4U);
}

TEST_F(InquiryOfFour, a_link_that_no_message_uses_any_more_is_tested_until_it_has_healed) {
  start(io::Validate::always);
  steps(30, kHealthy_s);
  slow_links_down(3);
  step(kSlow_s, onset());
  while (!inquiry->order().validates) step(kSlow_s);
  inquiry->conclude(now, {{.kind = Component::Kind::link, .rank = 1, .other = 2, .cause = SlowCause::link}},
                    false, 0);
  step(kSlow_s);
  uses_links = false;
  slow_links_down(1);
  const std::int64_t avoided = now;
  std::vector<std::int64_t> tests;
  PairResult result{.test = {.rank = 1, .other = 2}, .factor = 4, .is_slow = true};
  while (tests.size() < 3) {
    if (inquiry->order().probes) {
      tests.push_back(now - avoided);
      ASSERT_EQ(inquiry->to_probe(now).size(), 1U);
      result.is_slow = tests.size() < 3;
      inquiry->conclude_probes(now, {result});
    }
    step(kHealthy_s);
  }
  EXPECT_EQ(tests, (std::vector<std::int64_t>{19, 59, 139}));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(std::get<Healed>(events[1]).component.rank, 1);
  EXPECT_TRUE(inquiry->slow().empty());
  EXPECT_FALSE(inquiry->order().wants_reports);
}

TEST_F(InquiryOfFour, without_validation_all_links_of_a_group_are_told) {
  start(io::Validate::never);
  steps(30, kHealthy_s);
  slow_links_down(3);
  step(kSlow_s, onset());
  steps(4, kSlow_s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(told(0).components.size(), 4U);
}

TEST_F(InquiryOfFour, one_component_is_validated_too_where_always_is_asked_for) {
  start(io::Validate::always);
  steps(30, kHealthy_s);
  slow_down(2, 1.6);
  step(kSlow_s, onset());
  steps(4, kSlow_s);
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(inquiry->order().validates);
}

TEST_F(InquiryOfFour, what_has_healed_before_it_is_known_is_nothing) {
  steps(30, kHealthy_s);
  step(kSlow_s, onset());
  step(kHealthy_s, relief());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(told(0).cause, SlowCause::none);
  EXPECT_TRUE(told(0).components.empty());
  EXPECT_FALSE(inquiry->order().wants_reports);
}

TEST_F(InquiryOfFour, where_nothing_stands_out_it_says_so_in_the_end) {
  steps(30, kHealthy_s);
  step(kSlow_s, onset());
  steps(20, kSlow_s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(told(0).cause, SlowCause::none);
}

TEST_F(InquiryOfFour, what_comes_after_a_slowdown_that_all_share_is_compared_with_the_time_since) {
  constexpr double kShared = 1.2, kLevel_s = kShared * kHealthy_s;
  steps(30, kHealthy_s);
  for (int rank = 0; rank < 4; ++rank) slow_down(rank, kShared);
  const std::int64_t since = now - 2;
  step(kLevel_s, onset());
  steps(30, kLevel_s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(told(0).components.empty());
  EXPECT_EQ(told(0).healthy_iteration_s, kHealthy_s);

  slow_down(2, 1.5 * kShared);
  steps(2, kSlow_s);
  step(kSlow_s, Change{.iteration = now - 2, .detected_at = now, .before_s = kLevel_s, .after_s = kSlow_s});
  EXPECT_EQ(inquiry->order().healthy_from, since);
  EXPECT_EQ(inquiry->order().healthy_before, now - 3);
  for (RankReport& report : reports) report.healthy.compute_s = kShared * kFigures.compute_s;
  steps(3, kSlow_s);
  ASSERT_EQ(events.size(), 2U);
  ASSERT_EQ(told(1).components.size(), 1U);
  EXPECT_NEAR(told(1).components[0].factor, 1.5, 1e-9);
  EXPECT_EQ(told(1).healthy_iteration_s, kLevel_s);
  EXPECT_NEAR(told(1).lost_s, 5 * (kSlow_s - kLevel_s), 1e-9);
}

TEST_F(InquiryOfFour, a_second_fault_is_compared_with_the_time_before_the_first) {
  steps(30, kHealthy_s);
  slow_down(2, 1.6);
  step(kSlow_s, onset());
  steps(10, kSlow_s);
  slow_down(0, 2);
  step(kSlow_s, Change{.iteration = now - 2, .detected_at = now, .before_s = kSlow_s, .after_s = 0.2});
  EXPECT_EQ(inquiry->order().healthy_before, 0);
  steps(10, 0.2);
  ASSERT_EQ(events.size(), 2U);
  ASSERT_EQ(told(1).components.size(), 1U) << "the first is known";
  EXPECT_EQ(told(1).components[0].rank, 0);
  EXPECT_NEAR(told(1).components[0].factor, 2, 1e-9);
  EXPECT_EQ(told(1).healthy_iteration_s, kHealthy_s);
}

TEST_F(InquiryOfFour, what_is_known_to_be_slow_is_not_told_again_while_it_is_no_slower) {
  steps(30, kHealthy_s);
  slow_down(2, 1.6);
  step(kSlow_s, onset());
  steps(10, kSlow_s);
  ASSERT_EQ(events.size(), 1U);
  const auto again = [&] {
    step(kSlow_s, onset());
    steps(10, kSlow_s);
  };
  again();
  EXPECT_EQ(events.size(), 1U);
  EXPECT_TRUE(inquiry->order().wants_reports) << "it is followed";
  slow_down(2, 2.5);
  again();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_NEAR(told(1).components.at(0).factor, 2.5, 1e-9);
}

TEST_F(InquiryOfFour, what_has_become_less_slow_is_told_with_its_factor_now) {
  steps(30, kHealthy_s);
  slow_down(2, 3);
  step(kSlow_s, onset());
  steps(10, kSlow_s);
  ASSERT_EQ(events.size(), 1U);
  slow_down(2, 1.3);
  steps(10, kSlow_s);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(std::get<Eased>(events[1]).component.rank, 2);
  EXPECT_NEAR(std::get<Eased>(events[1]).component.factor, 1.3, 1e-9);
  slow_down(2, 1.09);
  step(kSlow_s);
  EXPECT_TRUE(std::holds_alternative<Healed>(events.at(2))) << "by what it was told with at first";
}

TEST_F(InquiryOfFour, a_second_look_finds_what_no_onset_has_told) {
  slow_down(2, 1.6);
  inquiry->look_again(0);
  EXPECT_FALSE(inquiry->is_under_way()) << "all is well so far";
  steps(30, kHealthy_s);
  step(kSlow_s, onset());
  steps(6, kSlow_s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(inquiry->is_under_way());

  inquiry->look_again(now - 4);
  EXPECT_TRUE(inquiry->is_under_way());
  steps(20, kSlow_s);
  EXPECT_FALSE(inquiry->is_under_way());
  EXPECT_EQ(events.size(), 1U) << "nothing else is slow, and nothing is told";

  slow_down(3, 2);
  inquiry->look_again(now - 4);
  steps(6, kSlow_s);
  EXPECT_FALSE(inquiry->is_under_way());
  ASSERT_EQ(events.size(), 2U);
  ASSERT_EQ(told(1).components.size(), 1U);
  EXPECT_EQ(told(1).components[0].rank, 3);
  EXPECT_NEAR(told(1).healthy_iteration_s, kHealthy_s, 1e-9);
}

TEST_F(InquiryOfFour, what_heals_while_a_second_look_is_under_way_leaves_no_level_behind) {
  steps(30, kHealthy_s);
  slow_down(2, 1.6);
  step(kSlow_s, onset());
  steps(6, kSlow_s);
  inquiry->look_again(now - 4);
  slow_down(2, 1);
  steps(20, kHealthy_s);
  EXPECT_FALSE(inquiry->is_under_way());
  EXPECT_TRUE(inquiry->slow().empty());
  const double level_s = 1.2 * kHealthy_s;
  slow_down(3, 2);
  step(kSlow_s, Change{.iteration = now, .detected_at = now, .before_s = level_s, .after_s = kSlow_s});
  steps(6, kSlow_s);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(told(2).healthy_iteration_s, level_s);
}

TEST_F(InquiryOfFour, waits_for_delays_that_have_not_been_measured_since) {
  for (RankReport& report : reports) report.now.activations_s = report.healthy.activations_s = 0.001;
  steps(30, kHealthy_s);
  slow_down(2, 1.6);
  for (RankReport& report : reports) report.now.activations_s = 0;
  step(kSlow_s, onset());
  steps(4, kSlow_s);
  EXPECT_TRUE(events.empty());
  for (RankReport& report : reports) report.now.activations_s = 0.001;
  steps(3, kSlow_s);
  EXPECT_EQ(events.size(), 1U);
}

}  // namespace
}  // namespace tenax::resilience
