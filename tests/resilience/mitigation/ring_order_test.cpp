#include "resilience/mitigation/ring_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tests/resilience/mitigation/made_up_grid.hpp"

namespace tenax::resilience {
namespace {

RankPair pair_of(int one, int other) { return {std::min(one, other), std::max(one, other)}; }

std::vector<RankPair> links_of(const std::vector<int>& ring) {
  std::vector<RankPair> links;
  for (std::size_t i = 0; i < ring.size(); ++i)
    links.push_back(pair_of(ring[i], ring[(i + 1) % ring.size()]));
  return links;
}

int shared_links(const std::vector<int>& ring, const std::vector<RankPair>& links) {
  int shared = 0;
  for (const RankPair& link : links_of(ring))
    shared += static_cast<int>(std::count(links.begin(), links.end(), link));
  return shared;
}

std::vector<RankPair> all_pairs(int members) {
  std::vector<RankPair> pairs;
  for (int a = 0; a < members; ++a)
    for (int b = a + 1; b < members; ++b) pairs.push_back({a, b});
  return pairs;
}

/// No link, each one, and each two.
std::vector<std::vector<RankPair>> up_to_two(const std::vector<RankPair>& pairs) {
  std::vector<std::vector<RankPair>> sets = {{}};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    sets.push_back({pairs[i]});
    for (std::size_t j = i + 1; j < pairs.size(); ++j) sets.push_back({pairs[i], pairs[j]});
  }
  return sets;
}

/// Of all rings without `slow`: the most links of `order` that one keeps; -1 where there is none.
int most_kept(const std::vector<RankPair>& slow, const std::vector<int>& order) {
  const std::vector<RankPair> old = links_of(order);
  std::vector<int> ring = order;
  std::sort(ring.begin(), ring.end());
  int most = -1;
  do {
    if (shared_links(ring, slow) == 0) most = std::max(most, shared_links(ring, old));
  } while (std::next_permutation(ring.begin() + 1, ring.end()));
  return most;
}

void expect_best(const std::vector<RankPair>& slow, const std::vector<int>& order) {
  const std::optional<std::vector<int>> found = ring_order_without(slow, order);
  const int most = most_kept(slow, order);
  ASSERT_EQ(found.has_value(), most >= 0);
  if (!found) return;
  EXPECT_EQ(found->front(), order.front());
  EXPECT_EQ(std::set<int>(found->begin(), found->end()).size(), order.size());
  EXPECT_EQ(shared_links(*found, slow), 0);
  EXPECT_EQ(shared_links(*found, links_of(order)), most);
}

TEST(RingOrder, avoids_any_one_or_two_slow_links_with_the_fewest_new_neighbours) {
  for (int members = 3; members <= 7; ++members)
    for (const auto& slow : up_to_two(all_pairs(members))) expect_best(slow, counted(members));
}

TEST(RingOrder, avoids_any_three_slow_links_among_six_members) {
  const std::vector<RankPair> pairs = all_pairs(6);
  for (const RankPair& third : pairs)
    for (std::vector<RankPair> slow : up_to_two(pairs)) {
      slow.push_back(third);
      expect_best(slow, counted(6));
    }
}

// Of eight members those pairs that the ring uses at least one of: the others change nothing.
TEST(RingOrder, avoids_them_among_eight_members_too) {
  const std::vector<int> order = {3, 0, 6, 1, 7, 4, 2, 5};
  for (const auto& slow : up_to_two(all_pairs(8))) {
    if (shared_links(order, slow) == 0)
      EXPECT_EQ(ring_order_without(slow, order), order);
    else
      expect_best(slow, order);
  }
}

TEST(RingOrder, keeps_all_but_two_links_where_one_is_slow) {
  const std::vector<RankPair> slow = {{2, 3}};
  EXPECT_EQ(ring_order_without(slow, counted(4)), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(ring_order_without(slow, counted(8)), (std::vector<int>{0, 2, 1, 3, 4, 5, 6, 7}));
}

TEST(RingOrder, is_none_where_every_ring_is_slow) {
  EXPECT_FALSE(ring_order_without(std::vector<RankPair>{{0, 1}}, counted(2)));
  EXPECT_FALSE(ring_order_without(std::vector<RankPair>{{0, 1}}, counted(3)));
  EXPECT_FALSE(ring_order_without(std::vector<RankPair>{{0, 1}, {0, 2}}, counted(4)));
  std::vector<RankPair> star;
  for (int other = 1; other < 64; ++other) star.push_back({0, other});
  EXPECT_FALSE(ring_order_without(star, counted(64)));
}

/// Slow links at random, of which no member has more than `most`.
std::vector<RankPair> random_links(int members, int most, std::mt19937& random) {
  std::vector<RankPair> pairs = all_pairs(members), slow;
  std::shuffle(pairs.begin(), pairs.end(), random);
  std::vector<int> slow_of_member(static_cast<std::size_t>(members));
  for (const RankPair& pair : pairs) {
    int &a = slow_of_member[static_cast<std::size_t>(pair.a)],
        &b = slow_of_member[static_cast<std::size_t>(pair.b)];
    if (a == most || b == most) continue;
    ++a, ++b;
    slow.push_back(pair);
  }
  return slow;
}

TEST(RingOrder, is_found_where_every_member_keeps_half_of_its_links) {
  std::mt19937 random(3);
  for (const int members : {8, 16, 64})
    for (int i = 0; i < 50; ++i) {
      const std::vector<RankPair> slow = random_links(members, members / 2 - 2, random);
      const std::optional<std::vector<int>> found = ring_order_without(slow, counted(members));
      ASSERT_TRUE(found) << members << " members, try " << i;
      EXPECT_EQ(shared_links(*found, slow), 0);
    }
}

}  // namespace
}  // namespace tenax::resilience
