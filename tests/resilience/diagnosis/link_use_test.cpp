// Which links messages go over, and which pairs of ranks test one that they do not.
#include "resilience/diagnosis/link_use.hpp"

#include <gtest/gtest.h>

#include <set>

#include "resilience/diagnosis/pair_plan.hpp"

namespace tenax::resilience {
namespace {

using comm::LinkTopology;
using parallel::GroupKind;
using parallel::ProcessGrid;

using Links = std::vector<LinkEnds>;

const LinkRoutes kRings{.tensor = LinkTopology::ring, .data = LinkTopology::ring};

Component link(GroupKind group, int rank, int other) {
  return {.kind = Component::Kind::link, .rank = rank, .other = other, .group = group};
}

Links used_links(GroupKind kind, const ProcessGrid& grid, const LinkRoutes& routes) {
  Links links;
  visit_used_links(kind, grid, routes, [&](const LinkEnds& used) {
    links.push_back(used);
    return true;
  });
  return links;
}

TEST(LinkUse, a_ring_uses_the_links_between_neighbours) {
  const ProcessGrid grid({.data = 4});
  EXPECT_EQ(used_links(GroupKind::data, grid, kRings), (Links{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
  EXPECT_TRUE(is_used(link(GroupKind::data, 0, 3), grid, kRings));
  EXPECT_FALSE(is_used(link(GroupKind::data, 0, 2), grid, kRings));
}

TEST(LinkUse, a_ring_in_another_order_uses_others) {
  const ProcessGrid grid({.pipeline = 2, .data = 4});
  LinkRoutes routes = kRings;
  routes.rings = {{0, 2, 1, 3}};  // of the first stage alone
  EXPECT_EQ(used_links(GroupKind::data, grid, routes),
            (Links{{0, 2}, {0, 3}, {1, 2}, {1, 3}, {4, 5}, {4, 7}, {5, 6}, {6, 7}}));
  EXPECT_FALSE(is_used(link(GroupKind::data, 0, 1), grid, routes));
}

TEST(LinkUse, other_groups_use_all_links_between_their_ranks) {
  const ProcessGrid grid({.tensor = 3, .data = 2});
  EXPECT_EQ(used_links(GroupKind::tensor, grid, {.tensor = LinkTopology::all_pairs}),
            (Links{{0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 5}, {4, 5}}));
  EXPECT_EQ(used_links(GroupKind::data, grid, {}), (Links{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_FALSE(is_used(link(GroupKind::data, 0, 1), grid, {}));
}

TEST(LinkUse, pipelines_use_those_between_neighbouring_stages) {
  const ProcessGrid grid({.pipeline = 3, .data = 2});
  EXPECT_EQ(used_links(GroupKind::pipeline, grid, kRings), (Links{{0, 2}, {1, 3}, {2, 4}, {3, 5}}));
}

TEST(LinkUse, after_a_swap_other_ranks_are_neighbours) {
  const ProcessGrid swapped({.pipeline = 2, .data = 2}, {0, 3, 2, 1}, 1);
  EXPECT_FALSE(is_used(link(GroupKind::data, 0, 1), swapped, kRings));
  EXPECT_TRUE(is_used(link(GroupKind::data, 0, 3), swapped, kRings));
  EXPECT_EQ(used_links(GroupKind::pipeline, swapped, kRings), (Links{{0, 2}, {1, 3}}));
}

TEST(LinkUse, shows_links_until_no_more_are_needed) {
  Links links;
  visit_used_links(GroupKind::data, ProcessGrid({.data = 4}), kRings, [&](const LinkEnds& used) {
    links.push_back(used);
    return links.size() < 2;
  });
  EXPECT_EQ(links, (Links{{0, 1}, {0, 3}}));
}

class PairPlanOfEight : public testing::Test {
 protected:
  std::vector<PairTest> plan(const std::vector<Component>& links, const std::vector<Component>& slow) const {
    return plan_pair_tests(links, slow, used_in(grid));
  }
  static UsedLinks used_in(const ProcessGrid& all) {
    return [&all](GroupKind kind, const LinkVisitor& visit) { visit_used_links(kind, all, kRings, visit); };
  }
  static void expect_disjoint(const std::vector<PairTest>& tests) {
    std::set<std::pair<int, int>> places;  // round, rank
    std::map<int, GroupKind> kinds;
    for (const PairTest& test : tests) {
      EXPECT_TRUE(places.insert({test.round, test.rank}).second);
      EXPECT_TRUE(places.insert({test.round, test.other}).second);
      EXPECT_EQ(kinds.emplace(test.round, test.group).first->second, test.group);
    }
  }
  const ProcessGrid grid{{.pipeline = 2, .data = 4}};
};

TEST_F(PairPlanOfEight, compares_a_link_with_two_others_at_the_same_time) {
  const auto tests = plan({link(GroupKind::data, 0, 2)}, {link(GroupKind::data, 0, 2)});
  ASSERT_EQ(tests.size(), 3U);
  EXPECT_TRUE(tests[0].is_of(link(GroupKind::data, 0, 2)));
  expect_disjoint(tests);
  for (const PairTest& test : tests) EXPECT_EQ(test.round, 0);
}

TEST_F(PairPlanOfEight, compares_with_no_slow_link) {
  const std::vector<Component> slow = {link(GroupKind::data, 0, 2), link(GroupKind::data, 4, 5),
                                       link(GroupKind::data, 5, 6)};
  const auto tests = plan({slow[0]}, slow);
  ASSERT_EQ(tests.size(), 3U);
  expect_disjoint(tests);
  for (std::size_t i = 1; i < tests.size(); ++i) {
    EXPECT_FALSE(tests[i].is_of(slow[1]));
    EXPECT_FALSE(tests[i].is_of(slow[2]));
  }
}

TEST_F(PairPlanOfEight, tests_links_with_a_common_end_and_other_kinds_one_after_the_other) {
  const std::vector<Component> links = {link(GroupKind::data, 0, 2), link(GroupKind::data, 2, 5),
                                        link(GroupKind::pipeline, 0, 5)};
  const auto tests = plan(links, links);
  expect_disjoint(tests);
  for (const Component& probed : links)
    EXPECT_EQ(
        std::count_if(tests.begin(), tests.end(), [&](const PairTest& test) { return test.is_of(probed); }),
        1);
  EXPECT_EQ(tests.size(), 3U + 2 + 2 + 1);
}

TEST_F(PairPlanOfEight, tests_alone_where_there_is_no_other) {
  const ProcessGrid pair({.pipeline = 2});
  const auto tests = plan_pair_tests({link(GroupKind::data, 0, 1)}, {}, used_in(pair));
  EXPECT_EQ(tests.size(), 1U);
}

TEST_F(PairPlanOfEight, takes_links_with_a_common_end_in_their_order_where_too_few_have_none) {
  const ProcessGrid three({.data = 3});
  const auto tests = plan_pair_tests({link(GroupKind::data, 0, 1)}, {}, used_in(three));
  ASSERT_EQ(tests.size(), 3U);
  EXPECT_TRUE(tests[1].is_of(link(GroupKind::data, 0, 2)));
  EXPECT_TRUE(tests[2].is_of(link(GroupKind::data, 1, 2)));
  expect_disjoint(tests);
}

// While it plans, all other ranks wait.
TEST_F(PairPlanOfEight, looks_at_few_links_of_very_many) {
  const ProcessGrid large({.pipeline = 2, .data = 65'536});
  int seen = 0;
  const auto tests =
      plan_pair_tests({link(GroupKind::data, 0, 2)}, {}, [&](GroupKind kind, const LinkVisitor& visit) {
        visit_used_links(kind, large, kRings, [&](const LinkEnds& used) {
          ++seen;
          return visit(used);
        });
      });
  EXPECT_EQ(tests.size(), 3U);
  EXPECT_LT(seen, 16);
}

}  // namespace
}  // namespace tenax::resilience
