#include "resilience/mitigation/microbatch_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace tenax::resilience {
namespace {

PipelineTime affine(double fill_s, double microbatch_s) {
  return [=](int microbatches) { return fill_s + microbatch_s * microbatches; };
}

/// Non-decreasing, with steps of all sizes and flat parts.
PipelineTime random_steps(int most, std::mt19937& random) {
  std::uniform_int_distribution<int> step(0, 3);
  std::vector<double> seconds = {static_cast<double>(step(random))};
  while (static_cast<int>(seconds.size()) <= most) seconds.push_back(seconds.back() + step(random));
  return [seconds](int microbatches) { return seconds.at(static_cast<std::size_t>(microbatches)); };
}

struct Case {
  std::vector<PipelineTime> kinds;
  std::vector<int> kind_of_group;
  int microbatches = 0;

  double seconds(std::size_t group, int count) const {
    return kinds[static_cast<std::size_t>(kind_of_group[group])](count);
  }
};

/// The least time of the slowest of the groups from `group` on, by trying all shares.
double least_slowest_s(const Case& tried, std::size_t group, int microbatches) {
  if (group + 1 == tried.kind_of_group.size()) return tried.seconds(group, microbatches);
  const int others = static_cast<int>(tried.kind_of_group.size() - group) - 1;
  double least_s = std::numeric_limits<double>::infinity();
  for (int count = 1; count <= microbatches - others; ++count)
    least_s = std::min(least_s, std::max(tried.seconds(group, count),
                                         least_slowest_s(tried, group + 1, microbatches - count)));
  return least_s;
}

Case random_case(std::mt19937& random) {
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  Case made{.kinds = {}, .kind_of_group = {}, .microbatches = 0};
  const int groups = draw(1, 4), kinds = draw(1, groups);
  made.microbatches = draw(groups, 12);
  for (int kind = 0; kind < kinds; ++kind) {
    made.kinds.push_back(draw(0, 1) == 0 ? affine(draw(0, 5), 0.1 * draw(0, 30))
                                         : random_steps(made.microbatches, random));
    made.kind_of_group.push_back(kind);
  }
  while (static_cast<int>(made.kind_of_group.size()) < groups)
    made.kind_of_group.push_back(draw(0, kinds - 1));
  std::shuffle(made.kind_of_group.begin(), made.kind_of_group.end(), random);
  return made;
}

MicrobatchShares share(const Case& tried) {
  return share_microbatches(tried.kinds, tried.kind_of_group, tried.microbatches);
}

TEST(MicrobatchShares, agree_with_trying_all) {
  std::mt19937 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const Case tried = random_case(random);
    const MicrobatchShares shares = share(tried);
    double slowest_s = 0;
    for (std::size_t group = 0; group < shares.microbatches.size(); ++group)
      slowest_s = std::max(slowest_s, tried.seconds(group, shares.microbatches[group]));
    ASSERT_EQ(shares.slowest_s, least_slowest_s(tried, 0, tried.microbatches)) << i;
    ASSERT_EQ(slowest_s, shares.slowest_s) << i;
    ASSERT_GE(*std::min_element(shares.microbatches.begin(), shares.microbatches.end()), 1) << i;
    ASSERT_EQ(std::accumulate(shares.microbatches.begin(), shares.microbatches.end(), 0), tried.microbatches)
        << i;
  }
}

// No microbatch can go to a group that has two fewer, or one fewer and a lower index, within the same time.
TEST(MicrobatchShares, are_as_even_as_they_can_be_and_favour_lower_indices) {
  std::mt19937 random(8);
  for (int i = 0; i < 1000; ++i) {
    const Case tried = random_case(random);
    const MicrobatchShares shares = share(tried);
    for (std::size_t to = 0; to < shares.microbatches.size(); ++to)
      for (std::size_t from = 0; from < shares.microbatches.size(); ++from) {
        const int more = shares.microbatches[from] - shares.microbatches[to];
        if (more < 1 || (more == 1 && from < to)) continue;
        ASSERT_GT(tried.seconds(to, shares.microbatches[to] + 1), shares.slowest_s) << i;
      }
  }
}

TEST(MicrobatchShares, are_even_where_all_are_equally_slow) {
  const Case tried{.kinds = {affine(1, 2)}, .kind_of_group = {0, 0, 0, 0}, .microbatches = 26};
  EXPECT_EQ(share(tried).microbatches, (std::vector<int>{7, 7, 6, 6}));
}

// 24 microbatches a group, one of 2, 4 and 8 groups 1.7 times as slow: 1.28, 1.13 and 1.08 of the healthy time.
TEST(MicrobatchShares, relieve_one_slow_group_as_far_as_integers_allow) {
  const auto slowest_s = [](int groups) {
    Case tried{.kinds = {affine(0, 1), affine(0, 1.7)}, .kind_of_group = {}, .microbatches = 24 * groups};
    tried.kind_of_group.assign(static_cast<std::size_t>(groups), 0);
    tried.kind_of_group.back() = 1;
    return share(tried).slowest_s;
  };
  EXPECT_DOUBLE_EQ(slowest_s(2), 18 * 1.7);
  EXPECT_DOUBLE_EQ(slowest_s(4), 27);
  EXPECT_DOUBLE_EQ(slowest_s(8), 26);
}

TEST(MicrobatchShares, leave_every_group_one_however_slow) {
  const Case tried{.kinds = {affine(0, 1), affine(1e9, 1e9)}, .kind_of_group = {1, 0, 1}, .microbatches = 9};
  EXPECT_EQ(share(tried).microbatches, (std::vector<int>{1, 7, 1}));
  EXPECT_EQ(share(tried).slowest_s, 2e9);
}

TEST(MicrobatchShares, ask_each_kind_a_few_dozen_times_for_many_groups) {
  int asked = 0;
  const PipelineTime healthy = [&](int microbatches) { return ++asked, 0.1 + microbatches; };
  Case tried{.kinds = {healthy, affine(0.1, 1.7)}, .kind_of_group = {}, .microbatches = 100'000};
  tried.kind_of_group.assign(512, 0);
  tried.kind_of_group[5] = 1;
  const MicrobatchShares shares = share(tried);
  EXPECT_EQ(shares.microbatches[5], 115);
  EXPECT_LE(asked, 100);
}

}  // namespace
}  // namespace tenax::resilience
