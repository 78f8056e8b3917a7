#include "parallel/layout/process_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/parallel/expect_error.hpp"

namespace tenax::parallel {
namespace {

constexpr GroupKind kKinds[] = {GroupKind::tensor, GroupKind::pipeline, GroupKind::data,
                                GroupKind::embedding};

TEST(ProcessGrid, numbers_ranks_with_tensor_fastest_then_data_then_pipeline) {
  const ProcessGrid grid({.tensor = 2, .pipeline = 3, .data = 4});
  EXPECT_EQ(grid.coordinates_of(0), (GridCoordinates{.tensor = 0, .pipeline = 0, .data = 0}));
  EXPECT_EQ(grid.coordinates_of(1), (GridCoordinates{.tensor = 1, .pipeline = 0, .data = 0}));
  EXPECT_EQ(grid.coordinates_of(2), (GridCoordinates{.tensor = 0, .pipeline = 0, .data = 1}));
  EXPECT_EQ(grid.coordinates_of(8), (GridCoordinates{.tensor = 0, .pipeline = 1, .data = 0}));
  EXPECT_EQ(grid.coordinates_of(23), (GridCoordinates{.tensor = 1, .pipeline = 2, .data = 3}));
}

TEST(ProcessGrid, lists_the_groups_of_a_rank_in_coordinate_order) {
  const ProcessGrid grid({.tensor = 2, .pipeline = 3, .data = 2});
  EXPECT_EQ(grid.group(GroupKind::tensor, 5), (std::vector<int>{4, 5}));
  EXPECT_EQ(grid.group(GroupKind::data, 5), (std::vector<int>{5, 7}));
  EXPECT_EQ(grid.group(GroupKind::pipeline, 5), (std::vector<int>{1, 5, 9}));
  EXPECT_EQ(grid.group(GroupKind::embedding, 9), (std::vector<int>{1, 9}));
  EXPECT_EQ(grid.group(GroupKind::embedding, 5), (std::vector<int>{5}));
}

TEST(ProcessGrid, has_embedding_groups_of_one_with_a_single_stage) {
  const ProcessGrid grid({.tensor = 2, .pipeline = 1, .data = 2});
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(grid.group(GroupKind::embedding, rank), (std::vector<int>{rank}));
}

/// Every shape up to 3 x 4 x 3, under the identity and a random permutation.
class AnyGrid : public ::testing::TestWithParam<bool> {
 protected:
  template <class Check>
  void for_each(Check check) {
    std::mt19937 random(7);
    for (int t = 1; t <= 3; ++t)
      for (int p = 1; p <= 4; ++p)
        for (int d = 1; d <= 3; ++d) {
          const GridShape shape{.tensor = t, .pipeline = p, .data = d};
          std::vector<int> ranks(static_cast<std::size_t>(shape.ranks()));
          for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
          if (GetParam()) std::shuffle(ranks.begin(), ranks.end(), random);
          check(GetParam() ? ProcessGrid(shape, ranks, 3) : ProcessGrid(shape));
        }
  }
};

TEST_P(AnyGrid, maps_ranks_and_coordinates_one_to_one) {
  for_each([](const ProcessGrid& grid) {
    for (int rank = 0; rank < grid.ranks(); ++rank) EXPECT_EQ(grid.rank_of(grid.coordinates_of(rank)), rank);
  });
}

// What World::split_* does with colors and keys, done here by hand.
TEST_P(AnyGrid, splits_ranks_into_exactly_the_groups_it_lists) {
  for_each([](const ProcessGrid& grid) {
    for (const GroupKind kind : kKinds) {
      std::map<int, std::map<int, int>> rank_of_key_of_color;
      for (int rank = 0; rank < grid.ranks(); ++rank) {
        const GroupSplit split = grid.split(kind, rank);
        EXPECT_GE(split.color, 0);
        EXPECT_TRUE(rank_of_key_of_color[split.color].emplace(split.key, rank).second) << "key taken";
      }
      for (int rank = 0; rank < grid.ranks(); ++rank) {
        std::vector<int> members;
        for (const auto& [key, member] : rank_of_key_of_color[grid.split(kind, rank).color])
          members.push_back(member);
        EXPECT_EQ(grid.group(kind, rank), members) << name_of(kind) << " group of rank " << rank;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, AnyGrid, ::testing::Bool(),
                         [](const auto& grid) { return grid.param ? "permuted" : "identity"; });

TEST(ProcessGrid, moves_coordinates_not_groups_under_a_permutation) {
  const ProcessGrid swapped({.tensor = 1, .pipeline = 4, .data = 1}, {0, 2, 1, 3}, 1);
  EXPECT_EQ(swapped.coordinates_of(2).pipeline, 1);
  EXPECT_EQ(swapped.group(GroupKind::pipeline, 2), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(swapped.generation(), 1);
}

TEST(ProcessGrid, names_connections_of_each_generation_otherwise) {
  const ProcessGrid first({.tensor = 1, .pipeline = 2, .data = 1}), second(first.shape(), {0, 1}, 1);
  EXPECT_EQ(first.connection_name("data", 3), "data.0.3");
  EXPECT_EQ(second.connection_name("data", 3), "data.1.3");
}

TEST(ProcessGrid, refuses_what_is_no_permutation) {
  const GridShape shape{.tensor = 1, .pipeline = 3, .data = 1};
  using kernels::Scope;
  expect_error(Scope::job, {"position 2", "rank 1"}, [&] { ProcessGrid(shape, {0, 1, 1}, 1); });
  expect_error(Scope::job, {"rank 3"}, [&] { ProcessGrid(shape, {0, 1, 3}, 1); });
  expect_error(Scope::job, {"2 ranks", "grid of 3"}, [&] { ProcessGrid(shape, {0, 1}, 1); });
}

}  // namespace
}  // namespace tenax::parallel
