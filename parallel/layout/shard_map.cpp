#include "parallel/layout/shard_map.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tenax::parallel {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

ShardMap::ShardMap(std::vector<ShardRow> rows, std::int64_t target_bucket_bytes, std::int64_t element_bytes,
                   int data_size)
    : rows_(std::move(rows)), data_size_(data_size) {
  assert(data_size >= 1 && element_bytes >= 1);
  const std::int64_t target = std::max<std::int64_t>(target_bucket_bytes / element_bytes, 1);
  Bucket open;  // rows gathered so far; padded_size_ is its end
  const auto close = [&](int end_row) {
    if (padded_size_ == open.begin) return;
    padded_size_ = round_up(padded_size_, data_size_ * kAlignment);
    buckets_.push_back({open.begin, padded_size_ - open.begin, open.first_row, end_row});
  };
  for (int row = 0; row < this->rows(); ++row) {
    const ShardRow& next = rows_[static_cast<std::size_t>(row)];
    assert(next.size >= 1);
    const bool fits = padded_size_ - open.begin + next.size <= target;
    if (next.starts_bucket || !fits) {
      close(row);
      open = {padded_size_, 0, row, row};
    }
    row_offsets_.push_back(padded_size_);
    if (next.size > target) {
      add_cut_row(row, target);
      open = {padded_size_, 0, row + 1, row + 1};
    } else {
      padded_size_ += round_up(next.size, kAlignment);
    }
  }
  close(this->rows());
}

void ShardMap::add_cut_row(int row, std::int64_t target) {
  // All parts but the last are whole multiples of the unit, so the row itself stays contiguous.
  const std::int64_t unit = data_size_ * kAlignment;
  const std::int64_t size = rows_[static_cast<std::size_t>(row)].size;
  const std::int64_t parts = (size + target - 1) / target;
  const std::int64_t part = round_up((size + parts - 1) / parts, unit);
  for (std::int64_t begin = 0; begin < size; begin += part) {
    const std::int64_t count = std::min(part, round_up(size - begin, unit));
    buckets_.push_back({padded_size_, count, row, row + 1});
    padded_size_ += count;
  }
}

OwnedPiece ShardMap::owned_piece(const Bucket& bucket, int data_rank) const {
  assert(data_rank >= 0 && data_rank < data_size_);
  const std::int64_t count = bucket.count / data_size_;
  return {bucket.begin + data_rank * count, count, bucket.begin / data_size_};
}

std::vector<OwnedRange> ShardMap::owned_ranges(int row, int data_rank) const {
  const std::int64_t row_begin = row_offset(row);
  const std::int64_t row_end = row_begin + rows_[static_cast<std::size_t>(row)].size;
  std::vector<OwnedRange> ranges;
  for (const Bucket& bucket : buckets_) {
    if (row < bucket.first_row || row >= bucket.end_row) continue;
    const OwnedPiece piece = owned_piece(bucket, data_rank);
    const std::int64_t begin = std::max(row_begin, piece.flat_begin);
    const std::int64_t end = std::min(row_end, piece.flat_begin + piece.count);
    if (begin < end)
      ranges.push_back({begin - row_begin, end - begin, piece.shard_offset + begin - piece.flat_begin});
  }
  return ranges;
}

}  // namespace tenax::parallel
