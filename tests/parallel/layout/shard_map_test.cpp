#include "parallel/layout/shard_map.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tenax::parallel {
namespace {

std::vector<ShardRow> random_rows(std::mt19937& random) {
  std::vector<ShardRow> rows;
  for (unsigned row = 0, count = 1 + random() % 12; row < count; ++row)
    rows.push_back({1 + static_cast<std::int64_t>(random() % 3000), random() % 4 == 0});
  return rows;
}

/// Random rows, targets and group sizes.
template <class Check>
void for_each_map(Check check) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const std::vector<ShardRow> rows = random_rows(random);
    const auto target_bytes = static_cast<std::int64_t>(4 + random() % 8000);
    const int data_size = 1 + static_cast<int>(random() % 5);
    check(rows, ShardMap(rows, target_bytes, 4, data_size), target_bytes / 4);
  }
}

TEST(ShardMap, covers_the_flat_buffer_with_buckets_that_the_group_divides) {
  for_each_map([](const auto&, const ShardMap& map, std::int64_t target) {
    std::int64_t end = 0;
    for (const Bucket& bucket : map.buckets()) {
      EXPECT_EQ(bucket.begin, end);
      EXPECT_GT(bucket.count, 0);
      EXPECT_EQ(bucket.count % (map.data_size() * ShardMap::kAlignment), 0);
      EXPECT_LT(bucket.count, target + (map.data_size() + 1) * ShardMap::kAlignment);
      end += bucket.count;
    }
    EXPECT_EQ(map.padded_size(), end);
  });
}

TEST(ShardMap, places_rows_in_order_aligned_and_apart) {
  for_each_map([](const std::vector<ShardRow>& rows, const ShardMap& map, std::int64_t) {
    std::int64_t free = 0;
    for (int row = 0; row < map.rows(); ++row) {
      EXPECT_EQ(map.row_offset(row) % ShardMap::kAlignment, 0);
      EXPECT_GE(map.row_offset(row), free);
      free = map.row_offset(row) + rows[static_cast<std::size_t>(row)].size;
    }
    EXPECT_LE(free, map.padded_size());
  });
}

TEST(ShardMap, names_exactly_the_rows_that_a_bucket_holds) {
  for_each_map([](const std::vector<ShardRow>& rows, const ShardMap& map, std::int64_t) {
    for (const Bucket& bucket : map.buckets())
      for (int row = 0; row < map.rows(); ++row) {
        const std::int64_t begin = map.row_offset(row);
        const std::int64_t end = begin + rows[static_cast<std::size_t>(row)].size;
        const bool overlaps = begin < bucket.begin + bucket.count && end > bucket.begin;
        EXPECT_EQ(overlaps, row >= bucket.first_row && row < bucket.end_row);
      }
  });
}

TEST(ShardMap, cuts_only_rows_larger_than_the_target) {
  for_each_map([](const std::vector<ShardRow>& rows, const ShardMap& map, std::int64_t target) {
    for (int row = 0; row < map.rows(); ++row) {
      int buckets = 0;
      for (const Bucket& bucket : map.buckets()) buckets += row >= bucket.first_row && row < bucket.end_row;
      const std::int64_t size = rows[static_cast<std::size_t>(row)].size;
      EXPECT_LE(buckets, (size + target - 1) / target);
      if (size <= target) {
        EXPECT_EQ(buckets, 1);
      }
    }
  });
}

// Counting how often each element of each row is owned, and each place of each shard is used.
TEST(ShardMap, gives_every_element_to_one_rank_and_every_shard_place_to_one_element_at_most) {
  for_each_map([](const std::vector<ShardRow>& rows, const ShardMap& map, std::int64_t) {
    std::vector<std::vector<int>> owners;
    for (const ShardRow& row : rows) owners.emplace_back(static_cast<std::size_t>(row.size), 0);
    for (int rank = 0; rank < map.data_size(); ++rank) {
      std::vector<int> users(static_cast<std::size_t>(map.shard_size()), 0);
      for (int row = 0; row < map.rows(); ++row)
        for (const OwnedRange& range : map.owned_ranges(row, rank))
          for (std::int64_t i = 0; i < range.count; ++i) {
            ++owners[static_cast<std::size_t>(row)].at(static_cast<std::size_t>(range.row_begin + i));
            ++users.at(static_cast<std::size_t>(range.shard_offset + i));
          }
      for (const int count : users) ASSERT_LE(count, 1);
    }
    for (const auto& row : owners)
      for (const int count : row) ASSERT_EQ(count, 1);
  });
}

// Reduce-scatter leaves piece d of a bucket with rank d: ranges must lie in pieces, at the pieces' place.
TEST(ShardMap, owns_the_pieces_that_a_reduce_scatter_leaves_in_place) {
  for_each_map([](const auto&, const ShardMap& map, std::int64_t) {
    for (int rank = 0; rank < map.data_size(); ++rank) {
      std::int64_t shard_end = 0;
      std::vector<OwnedPiece> pieces;
      for (const Bucket& bucket : map.buckets()) pieces.push_back(map.owned_piece(bucket, rank));
      ASSERT_EQ(pieces.size(), map.buckets().size());
      for (std::size_t b = 0; b < pieces.size(); ++b) {
        const Bucket& bucket = map.buckets()[b];
        EXPECT_EQ(pieces[b].count * map.data_size(), bucket.count);
        EXPECT_EQ(pieces[b].flat_begin, bucket.begin + rank * pieces[b].count);
        EXPECT_EQ(pieces[b].shard_offset, shard_end);
        shard_end += pieces[b].count;
      }
      EXPECT_EQ(shard_end, map.shard_size());
      for (int row = 0; row < map.rows(); ++row)
        for (const OwnedRange& range : map.owned_ranges(row, rank)) {
          const std::int64_t flat = map.row_offset(row) + range.row_begin;
          int inside = 0;
          for (const OwnedPiece& piece : pieces)
            inside += flat >= piece.flat_begin && flat + range.count <= piece.flat_begin + piece.count &&
                      flat - piece.flat_begin == range.shard_offset - piece.shard_offset;
          EXPECT_EQ(inside, 1);
        }
    }
  });
}

TEST(ShardMap, cuts_a_bounded_row_alike_whatever_surrounds_it) {
  const std::int64_t size = 50257;
  for (const int data_size : {1, 2, 3, 8}) {
    const ShardMap first({{size, true}, {777, true}, {12345}}, 40000, 4, data_size);
    const ShardMap last({{12345}, {999}, {size, true}}, 40000, 4, data_size);
    for (int rank = 0; rank < data_size; ++rank) {
      const auto here = first.owned_ranges(0, rank), there = last.owned_ranges(2, rank);
      ASSERT_EQ(here.size(), there.size());
      ASSERT_GT(here.size(), 1u);
      for (std::size_t i = 0; i < here.size(); ++i) {
        EXPECT_EQ(here[i].row_begin, there[i].row_begin);
        EXPECT_EQ(here[i].count, there[i].count);
      }
    }
  }
}

TEST(ShardMap, cuts_a_large_row_into_even_buckets) {
  const ShardMap map({{1100}}, 1000 * 4, 4, 2);
  EXPECT_EQ(map.buckets(), (std::vector<Bucket>{{0, 576, 0, 1}, {576, 544, 0, 1}}));
}

TEST(ShardMap, starts_a_bucket_where_told) {
  const ShardMap map({{16}, {16}, {16, true}, {16}}, 1 << 20, 4, 1);
  EXPECT_EQ(map.buckets(), (std::vector<Bucket>{{0, 32, 0, 2}, {32, 32, 2, 4}}));
}

}  // namespace
}  // namespace tenax::parallel
