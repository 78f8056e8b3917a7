#include "resilience/mitigation/topology_swap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "tests/resilience/mitigation/made_up_grid.hpp"

namespace tenax::resilience {
namespace {

bool always(int, int) { return true; }

std::optional<TopologySwap> find(const MadeUpGrid& grid) {
  return find_topology_swap(grid.at_launch(), grid.suspects(), always);
}

double found_iteration_s(const MadeUpGrid& grid) {
  const std::optional<TopologySwap> found = find(grid);
  return found ? found->iteration_s : grid.at_launch().score().iteration_s;
}

/// How many of the grid's slow groups each data rank's pipeline holds.
std::vector<int> slow_of_pipeline(const MadeUpGrid& grid, const std::vector<int>& group_of_place) {
  std::vector<int> slow(static_cast<std::size_t>(grid.shape.data));
  for (std::size_t place = 0; place < group_of_place.size(); ++place)
    slow[place % slow.size()] += static_cast<int>(grid.slow_groups.count(group_of_place[place]));
  return slow;
}

TEST(TopologySwap, takes_a_slow_data_link_out_of_use) {
  const MadeUpGrid grid{.shape = {.pipeline = 2, .data = 2}, .slow_links = {{{0, 1}, 5}}};
  const std::optional<TopologySwap> found = find(grid);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->group_of_place, (std::vector<int>{2, 1, 0, 3}));
  EXPECT_DOUBLE_EQ(grid.at_launch().score().iteration_s - found->iteration_s, 4 * grid.data_s);
}

// Figure 11 of the paper: with the diagonal slow as well, one of the two links has to be used.
TEST(TopologySwap, turns_a_slow_data_link_into_a_pipeline_link) {
  const MadeUpGrid grid{.shape = {.pipeline = 2, .data = 2}, .slow_links = {{{0, 1}, 5}, {{0, 3}, 5}}};
  const MadeUpGrid healthy{.shape = grid.shape};
  EXPECT_NEAR(found_iteration_s(grid) - healthy.at_launch().score().iteration_s, 2 * 4 * grid.message_s,
              1e-9);
}

TEST(TopologySwap, takes_a_slow_pipeline_link_out_of_use) {
  const MadeUpGrid grid{.shape = {.pipeline = 2, .data = 4}, .message_s = 0.2, .slow_links = {{{1, 5}, 4}}};
  MadeUpGrid healthy = grid;
  healthy.slow_links.clear();
  EXPECT_DOUBLE_EQ(found_iteration_s(grid), healthy.at_launch().score().iteration_s);
}

TEST(TopologySwap, gives_no_pipeline_more_slow_ranks_than_it_must_have) {
  const MadeUpGrid grid{.shape = {.pipeline = 4, .data = 4},
                        .slow_groups = {{0, 1.5}, {4, 1.5}, {8, 1.5}, {1, 1.5}}};
  const std::optional<TopologySwap> found = find(grid);
  ASSERT_TRUE(found);
  EXPECT_EQ(slow_of_pipeline(grid, found->group_of_place), (std::vector<int>{1, 1, 1, 1}));
}

TEST(TopologySwap, puts_slow_ranks_where_there_is_less_work) {
  const MadeUpGrid grid{
      .shape = {.pipeline = 4, .data = 2}, .work = {1.2, 1, 1, 1.3}, .slow_groups = {{0, 1.4}, {7, 1.4}}};
  const std::optional<TopologySwap> found = find(grid);
  ASSERT_TRUE(found);
  for (const int group : {0, 7}) {
    const auto place = std::find(found->group_of_place.begin(), found->group_of_place.end(), group);
    const auto stage = (place - found->group_of_place.begin()) / grid.shape.data;
    EXPECT_TRUE(stage == 1 || stage == 2) << stage;
  }
}

TEST(TopologySwap, is_none_where_nothing_can_be_won) {
  MadeUpGrid grid{.shape = {.pipeline = 2, .data = 4}, .slow_groups = {{2, 1.5}}};
  EXPECT_FALSE(find(grid)) << "one slow rank, stages alike";
  for (int group = 0; group < 8; ++group) grid.slow_groups[group] = 1.5;
  EXPECT_FALSE(find(grid)) << "all are slow";
  grid.slow_groups.clear();
  EXPECT_FALSE(find(grid)) << "all are healthy";
}

// Two pipelines hold two slow ranks each, the third none: one of the three must hold two.
TEST(TopologySwap, is_none_where_only_some_of_the_slowest_would_be_quicker) {
  const MadeUpGrid grid{.shape = {.pipeline = 3, .data = 3},
                        .slow_groups = {{0, 1.5}, {3, 1.5}, {1, 1.5}, {4, 1.5}}};
  EXPECT_FALSE(find(grid));
}

TEST(TopologySwap, makes_only_exchanges_that_may_help) {
  const MadeUpGrid grid{.shape = {.pipeline = 2, .data = 2}, .slow_links = {{{0, 1}, 5}}};
  const auto not_with_2 = [](int, int other) { return other != 2; };
  const std::optional<TopologySwap> found = find_topology_swap(grid.at_launch(), grid.suspects(), not_with_2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->group_of_place, (std::vector<int>{0, 3, 2, 1}));
  EXPECT_FALSE(find_topology_swap(grid.at_launch(), grid.suspects(), [](int, int) { return false; }));
}

/// Six tensor groups, with so many slow groups and slow links at random.
MadeUpGrid random_grid(int groups, int links, std::mt19937& random) {
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  const int pipeline = draw(2, 3);
  MadeUpGrid grid{.shape = {.pipeline = pipeline, .data = 6 / pipeline},
                  .data_s = 0.5 * draw(1, 10),
                  .message_s = 0.01 * draw(1, 20),
                  .work = std::vector<double>(static_cast<std::size_t>(pipeline), 1)};
  grid.work.front() = 1.1;
  grid.work.back() = 1.2;
  for (int i = 0; i < groups; ++i) grid.slow_groups[draw(0, 5)] = 1 + 0.1 * draw(1, 10);
  for (int i = 0; i < links; ++i) {
    const int one = draw(0, 5), other = (one + draw(1, 5)) % 6;
    grid.slow_links[std::minmax({one, other})] = draw(2, 8);
  }
  return grid;
}

/// The worst ratio to the best of all permutations.
double worst_ratio(int groups, int links, int grids) {
  std::mt19937 random(5);
  double worst = 1;
  for (int i = 0; i < grids; ++i) {
    const MadeUpGrid grid = random_grid(groups, links, random);
    const double found_s = found_iteration_s(grid);
    EXPECT_LE(found_s, grid.at_launch().score().iteration_s);
    worst = std::max(worst, found_s / grid.best_iteration_s());
  }
  return worst;
}

TEST(TopologySwap, of_one_or_two_faults_is_the_best_of_all_permutations) {
  for (const auto& [groups, links] : {std::pair{1, 0}, {0, 1}, {2, 0}, {1, 1}, {0, 2}})
    EXPECT_LE(worst_ratio(groups, links, 100), 1 + 1e-9) << groups << " slow groups, " << links << " links";
}

TEST(TopologySwap, of_more_faults_comes_near_the_best_of_all_permutations) {
  const double worst = worst_ratio(2, 2, 100);
  std::printf("two slow groups and two slow links among six groups: worst ratio %.3f\n", worst);
  EXPECT_LE(worst, 1.2);
}

TEST(PlacementTimes, ask_for_each_arrangement_of_suspects_once) {
  int asked = 0;
  const MadeUpGrid grid{.shape = {.pipeline = 4, .data = 64}, .slow_groups = {{3, 1.5}, {67, 1.5}}};
  GridTimes times = grid.times();
  times.pipeline_s = [&](std::span<const int> groups) { return ++asked, grid.pipeline_s(groups); };
  std::vector<int> places(256);
  for (int place = 0; place < 256; ++place) places[static_cast<std::size_t>(place)] = place;
  PlacementTimes placement(grid.shape, times, places, grid.suspects());
  EXPECT_TRUE(find_topology_swap(placement, grid.suspects(), always));
  EXPECT_LE(asked, 21) << "none, either of two at four stages, both at two of four stages";
}

TEST(TopologySwap, moves_tensor_groups_whole) {
  const std::vector<int> groups = {2, 1, 0, 3};
  const std::vector<int> ranks = rank_of_position(groups, 2);
  EXPECT_EQ(ranks, (std::vector<int>{4, 5, 2, 3, 0, 1, 6, 7}));
  const parallel::ProcessGrid grid({.tensor = 2, .pipeline = 2, .data = 2}, ranks, 1);
  EXPECT_EQ(grid.group(parallel::GroupKind::tensor, 4), (std::vector<int>{4, 5}));
  EXPECT_EQ(grid.coordinates_of(4), (parallel::GridCoordinates{.tensor = 0, .pipeline = 0, .data = 0}));
}

}  // namespace
}  // namespace tenax::resilience
