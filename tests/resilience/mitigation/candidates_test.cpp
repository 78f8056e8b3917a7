#include "resilience/mitigation/candidates.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

using parallel::GroupKind;
using enum Strategy;
using Strategies = std::vector<Strategy>;

/// A run in which all is possible: data 4, pipeline 2, a host for every two ranks.
Possibilities all_possible() {
  return {.allowed = {restart, swap, ring, microbatches},
          .shape = {.tensor = 1, .pipeline = 2, .data = 4},
          .microbatches = 8,
          .most_microbatches = 16,
          .rings = true,
          .swap_fits = true,
          .spare_hosts = 2,
          .host_of_rank = {"a", "a", "b", "b", "c", "c", "d", "d"}};
}

Component slow_rank(SlowCause cause) { return {.rank = 2, .cause = cause}; }

Component slow_link(GroupKind group) {
  return {.kind = Component::Kind::link, .rank = 0, .other = 1, .group = group, .cause = SlowCause::link};
}

TEST(Candidates, follow_from_the_cause) {
  const Possibilities run = all_possible();
  EXPECT_EQ(candidates_against(slow_rank(SlowCause::compute), run),
            (Strategies{microbatches, swap, restart}));
  EXPECT_EQ(candidates_against(slow_rank(SlowCause::cpu_contention), run),
            (Strategies{microbatches, swap, restart}));
  EXPECT_EQ(candidates_against(slow_link(GroupKind::data), run), (Strategies{ring, swap, restart}));
  EXPECT_EQ(candidates_against(slow_link(GroupKind::pipeline), run), (Strategies{swap, restart}));
  EXPECT_EQ(candidates_against(slow_link(GroupKind::embedding), run), (Strategies{swap, restart}));
  EXPECT_EQ(candidates_against(slow_link(GroupKind::tensor), run), Strategies{restart});
  for (const SlowCause cause : {SlowCause::none, SlowCause::common, SlowCause::several})
    EXPECT_TRUE(candidates_against(slow_rank(cause), run).empty());
}

TEST(Candidates, are_what_the_deck_allows) {
  Possibilities run = all_possible();
  run.allowed = {ring, swap};
  EXPECT_EQ(candidates_against(slow_rank(SlowCause::compute), run), Strategies{swap});
  EXPECT_EQ(candidates_against(slow_link(GroupKind::data), run), (Strategies{ring, swap}));
  EXPECT_TRUE(candidates_against(slow_link(GroupKind::tensor), run).empty());
}

TEST(Candidates, are_what_the_layout_leaves_possible) {
  EXPECT_EQ(possible_strategies(all_possible()), (Strategies{microbatches, ring, swap, restart}));
  const auto without = [](auto change) {
    Possibilities run = all_possible();
    change(run);
    return possible_strategies(run);
  };
  EXPECT_EQ(without([](Possibilities& run) { run.microbatches = 1; }), (Strategies{ring, swap, restart}));
  EXPECT_EQ(without([](Possibilities& run) { run.most_microbatches = run.microbatches; }),
            (Strategies{ring, swap, restart}));
  EXPECT_EQ(without([](Possibilities& run) { run.shape.data = 3; }),
            (Strategies{microbatches, swap, restart}));
  EXPECT_EQ(without([](Possibilities& run) { run.shape.data = 1; }), (Strategies{swap, restart}));
  EXPECT_EQ(without([](Possibilities& run) { run.rings = false; }),
            (Strategies{microbatches, swap, restart}));
  EXPECT_EQ(without([](Possibilities& run) { run.shape.pipeline = 1; }),
            (Strategies{microbatches, ring, restart}));
  EXPECT_EQ(without([](Possibilities& run) { run.swap_fits = false; }),
            (Strategies{microbatches, ring, restart}));
  EXPECT_EQ(without([](Possibilities& run) { run.spare_hosts = 0; }), (Strategies{microbatches, ring, swap}));
}

TEST(Candidates, have_a_restart_where_each_host_that_is_left_out_has_a_spare_one) {
  Possibilities run = all_possible();
  Component link = slow_link(GroupKind::pipeline);
  link.other = 4;
  EXPECT_EQ(hosts_of({link, slow_rank(SlowCause::compute), link}, run),
            (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(candidates_against(link, run), (Strategies{swap, restart}));
  run.spare_hosts = 1;
  EXPECT_EQ(candidates_against(link, run), Strategies{swap});
  EXPECT_EQ(candidates_against(slow_link(GroupKind::tensor), run), Strategies{restart})
      << "both ends are on one host";
}

TEST(Candidates, know_that_what_runs_beside_a_rank_belongs_to_its_host) {
  Possibilities run = all_possible();
  const Component contended = slow_rank(SlowCause::cpu_contention);
  EXPECT_FALSE(leaves_cause_by_swap(contended, 3, run));
  EXPECT_TRUE(leaves_cause_by_swap(contended, 4, run));
  EXPECT_TRUE(leaves_cause_by_swap(slow_rank(SlowCause::compute), 3, run));
  EXPECT_FALSE(leaves_cause_by_swap(slow_rank(SlowCause::compute), 2, run));
  run.host_of_rank.assign(8, "a");
  EXPECT_EQ(candidates_against(contended, run), (Strategies{microbatches, restart}));
  EXPECT_EQ(candidates_against(slow_rank(SlowCause::compute), run),
            (Strategies{microbatches, swap, restart}));
}

TEST(Strategy, has_the_words_of_deck_and_events) {
  EXPECT_STREQ(name_of(microbatches), "microbatches");
  EXPECT_STREQ(name_of(ring), "ring");
  EXPECT_STREQ(name_of(swap), "swap");
  EXPECT_STREQ(name_of(restart), "restart");
}

}  // namespace
}  // namespace tenax::resilience
