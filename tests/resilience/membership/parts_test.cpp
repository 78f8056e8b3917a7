#include "resilience/membership/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::resilience {
namespace {

using Parts = std::vector<Part>;

constexpr SampleRules kKeep{.batch = BatchRule::keep, .global_batch = 24, .replicas = 3, .unit = 2};
constexpr SampleRules kShrink{.batch = BatchRule::shrink, .global_batch = 24, .replicas = 3, .unit = 2};

/// Samples of each replica.
std::map<int, std::int64_t> loads(const Parts& parts) {
  std::map<int, std::int64_t> found;
  for (const Part& part : parts) found[part.replica] += part.count;
  return found;
}

/// Those of `parts` that are not `lost`'s.
Parts without(Parts parts, int lost) {
  std::erase_if(parts, [&](const Part& part) { return part.replica == lost; });
  return parts;
}

bool contains(const Parts& parts, const Part& part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

TEST(Parts, are_one_for_each_contributor_in_ring_order) {
  EXPECT_EQ(share_samples(kKeep, 100, {2, 0, 1}), (Parts{{2, 100, 8}, {0, 108, 8}, {1, 116, 8}}));
}

TEST(Parts, differ_by_one_unit_where_the_batch_does_not_divide_evenly_and_earlier_replicas_get_more) {
  const SampleRules rules{.global_batch = 16, .replicas = 3, .unit = 2};
  EXPECT_EQ(share_samples(rules, 0, {0, 1, 2}), (Parts{{0, 0, 6}, {1, 6, 6}, {2, 12, 4}}));
}

TEST(Parts, fill_the_global_batch_with_fewer_contributors_under_keep) {
  EXPECT_EQ(share_samples(kKeep, 0, {1, 2}), (Parts{{1, 0, 12}, {2, 12, 12}}));
}

TEST(Parts, are_each_contributors_own_share_under_shrink) {
  EXPECT_EQ(share_samples(kShrink, 0, {0, 2}), (Parts{{0, 0, 8}, {2, 8, 8}}));
}

TEST(Parts, of_survivors_stay_and_what_is_missing_is_shared_out_under_keep) {
  const Parts kept{{0, 0, 8}, {2, 16, 8}};
  EXPECT_EQ(share_samples(kKeep, 0, {0, 2}, kept), (Parts{{0, 0, 8}, {0, 8, 4}, {2, 12, 4}, {2, 16, 8}}));
}

TEST(Parts, after_the_last_kept_sample_go_to_the_next_step_under_shrink) {
  EXPECT_EQ(share_samples(kShrink, 0, {0, 1}, {{0, 0, 8}, {1, 8, 8}}), (Parts{{0, 0, 8}, {1, 8, 8}}));
}

TEST(Parts, before_the_last_kept_sample_are_filled_under_shrink) {
  EXPECT_EQ(share_samples(kShrink, 0, {1, 2}, {{1, 8, 8}, {2, 16, 8}}),
            (Parts{{1, 0, 4}, {2, 4, 4}, {1, 8, 8}, {2, 16, 8}}));
}

TEST(Parts, tile_the_step_and_keep_what_is_computed_however_many_replicas_die_in_it) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const int replicas = 2 + static_cast<int>(random() % 6);
    const std::int64_t unit = 1 + random() % 3;
    const BatchRule batch = round % 2 == 0 ? BatchRule::keep : BatchRule::shrink;
    const SampleRules rules{batch, unit * replicas * static_cast<std::int64_t>(1 + random() % 4), replicas,
                            unit};
    std::vector<int> alive;
    for (int replica = 0; replica < replicas; ++replica) alive.push_back(replica);
    Parts parts = share_samples(rules, 50, alive);
    while (alive.size() > 1) {
      const int lost = alive[random() % alive.size()];
      std::erase(alive, lost);
      const Parts kept = without(parts, lost);
      if (kept.empty()) break;
      parts = share_samples(rules, 50, alive, kept);
      ASSERT_TRUE(tile(parts, 50));
      for (const Part& part : kept) ASSERT_TRUE(contains(parts, part));
      const std::int64_t samples = count_samples(parts);
      ASSERT_TRUE(batch == BatchRule::keep ? samples == rules.global_batch : samples <= rules.global_batch);
    }
  }
}

TEST(Parts, differ_by_one_unit_in_total_after_a_death) {
  for (int lost = 0; lost < 5; ++lost) {
    const SampleRules rules{.global_batch = 17, .replicas = 5};
    std::vector<int> alive{0, 1, 2, 3, 4};
    const Parts first = share_samples(rules, 0, alive);
    std::erase(alive, lost);
    const auto load = loads(share_samples(rules, 0, alive, without(first, lost)));
    const auto [least, most] = std::minmax_element(
        load.begin(), load.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_LE(most->second - least->second, 1) << "replica " << lost << " died";
  }
}

TEST(Parts, give_each_sample_to_the_first_of_those_that_have_least) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::map<int, std::int64_t> expected;
    Parts kept;
    std::int64_t next = 0;
    std::vector<int> alive;
    const int replicas = 2 + static_cast<int>(random() % 6);
    for (int replica = 0; replica < replicas; ++replica) {
      alive.push_back(replica);
      expected[replica] = static_cast<std::int64_t>(random() % 9);
      if (expected[replica] > 0) kept.push_back({replica, next, expected[replica]});
      next += expected[replica];
    }
    const auto missing = static_cast<std::int64_t>(random() % 40);
    const SampleRules rules{.global_batch = next + missing, .replicas = static_cast<int>(alive.size())};
    for (std::int64_t i = 0; i < missing; ++i)
      ++std::min_element(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->second;
    std::map<int, std::int64_t> actual;
    for (const int replica : alive) actual[replica] = 0;
    for (const Part& part : share_samples(rules, 0, alive, kept)) actual[part.replica] += part.count;
    ASSERT_EQ(actual, expected) << "round " << round;
  }
}

TEST(Parts, of_a_batch_that_is_no_multiple_of_the_unit_are_refused) {
  EXPECT_THROW(share_samples({.global_batch = 21, .replicas = 3, .unit = 2}, 0, {0, 1, 2}), kernels::Error);
  EXPECT_THROW(share_samples(kKeep, 0, {0, 1}, {{0, 0, 7}, {1, 10, 14}}), kernels::Error);
}

TEST(Parts, with_a_gap_or_an_overlap_do_not_tile) {
  EXPECT_TRUE(tile({{0, 4, 2}, {1, 6, 2}}, 4));
  EXPECT_FALSE(tile({{0, 4, 2}, {1, 7, 2}}, 4));
  EXPECT_FALSE(tile({{0, 4, 2}, {1, 5, 2}}, 4));
  EXPECT_FALSE(tile({{0, 4, 2}}, 3));
  EXPECT_FALSE(tile({}, 0));
}

TEST(Parts, tell_how_many_samples_a_loss_or_a_newcomer_may_bring) {
  const SampleRules rules{.global_batch = 12, .replicas = 3};
  const std::vector<Part> parts = share_samples(rules, 24, {0, 1, 2});
  EXPECT_EQ(counts_after_a_change(rules, parts, 1), (std::set<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(counts_after_a_change(rules, share_samples(rules, 0, {0, 2}), 2),
            (std::set<std::int64_t>{4, 6, 12}));
  EXPECT_EQ(counts_after_a_change(rules, share_samples(rules, 0, {1}), 1), (std::set<std::int64_t>{6}));
  EXPECT_TRUE(
      counts_after_a_change({.global_batch = 4, .replicas = 1}, share_samples({.global_batch = 4}, 0, {0}), 0)
          .empty());
}

}  // namespace
}  // namespace tenax::resilience
