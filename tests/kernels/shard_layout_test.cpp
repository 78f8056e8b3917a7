#include "kernels/shard_layout.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenax::kernels {
namespace {

// The logical flat index of each local element, or -1 for padding: the definition in words, element by
// element.
std::vector<std::int64_t> logical_indices(const ShardLayout& layout) {
  const Shape local = layout.local();
  const bool matrix = layout.logical.rank() == 2;
  const std::int64_t rows = matrix ? local[0] : 1, columns = matrix ? local[1] : local[0];
  const std::int64_t share = local[layout.axis] / layout.sections;
  std::vector<std::int64_t> result;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t along = matrix && layout.axis == 0 ? r : c;
      const std::int64_t section = along / share;
      const std::int64_t there = (section * layout.parts + layout.index) * share + along % share;
      if (there >= layout.logical[layout.axis])
        result.push_back(-1);
      else if (!matrix)
        result.push_back(there);
      else
        result.push_back(layout.axis == 0 ? there * layout.logical[1] + c : r * layout.logical[1] + there);
    }
  return result;
}

std::vector<std::int64_t> indices_from_runs(const ShardLayout& layout, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(layout.local().size()), -1);
  std::int64_t last = begin;
  layout.for_each_run(begin, end, [&](const ShardLayout::Run& run) {
    EXPECT_GE(run.local_begin, last) << "runs come in increasing order and do not overlap";
    EXPECT_GT(run.count, 0);
    EXPECT_LE(run.local_begin + run.count, end);
    for (std::int64_t i = 0; i < run.count; ++i)
      result[static_cast<std::size_t>(run.local_begin + i)] = run.logical_begin + i;
    last = run.local_begin + run.count;
  });
  return result;
}

std::vector<ShardLayout> layouts() {
  std::vector<ShardLayout> result;
  for (const int parts : {1, 2, 3})
    for (int index = 0; index < parts; ++index) {
      result.push_back({.logical = {18}, .parts = parts, .index = index});
      result.push_back({.logical = {18}, .parts = parts, .index = index, .sections = 3});
      result.push_back({.logical = {6, 5}, .axis = 0, .parts = parts, .index = index});
      result.push_back({.logical = {5, 18}, .axis = 1, .parts = parts, .index = index, .sections = 3});
      result.push_back({.logical = {7, 4}, .axis = 0, .parts = parts, .index = index, .padded_extent = 12});
      result.push_back({.logical = {1, 4}, .axis = 0, .parts = parts, .index = index, .padded_extent = 6});
    }
  return result;
}

TEST(ShardLayout, runs_name_the_logical_index_of_every_element) {
  for (const ShardLayout& layout : layouts())
    EXPECT_EQ(indices_from_runs(layout, 0, layout.local().size()), logical_indices(layout));
}

TEST(ShardLayout, runs_of_any_stretch_are_those_of_the_whole_cut_to_it) {
  for (const ShardLayout& layout : layouts()) {
    const std::vector<std::int64_t> whole = logical_indices(layout);
    const std::int64_t size = layout.local().size();
    for (std::int64_t begin = 0; begin <= size; ++begin)
      for (std::int64_t end = begin; end <= size; ++end) {
        std::vector<std::int64_t> expected(whole.size(), -1);
        for (std::int64_t i = begin; i < end; ++i)
          expected[static_cast<std::size_t>(i)] = whole[static_cast<std::size_t>(i)];
        EXPECT_EQ(indices_from_runs(layout, begin, end), expected);
      }
  }
}

TEST(ShardLayout, parts_cover_the_logical_tensor_exactly_once) {
  for (const ShardLayout& layout : layouts()) {
    std::vector<int> covered(static_cast<std::size_t>(layout.logical.size()));
    for (int index = 0; index < layout.parts; ++index) {
      ShardLayout part = layout;
      part.index = index;
      part.for_each_run(0, part.local().size(), [&](const ShardLayout::Run& run) {
        for (std::int64_t i = 0; i < run.count; ++i)
          ++covered[static_cast<std::size_t>(run.logical_begin + i)];
      });
    }
    EXPECT_EQ(covered, std::vector<int>(covered.size(), 1));
  }
}

TEST(ShardLayout, an_uncut_matrix_is_one_run_a_row_at_most) {
  const ShardLayout layout{.logical = {6, 5}, .axis = 0};
  int runs = 0;
  layout.for_each_run(0, 30, [&](const ShardLayout::Run&) { ++runs; });
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace tenax::kernels
