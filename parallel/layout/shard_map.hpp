// ShardMap: how a rank's flat parameter buffer is laid out, cut into buckets, and shared out over
// the data-parallel group (ZeRO-1, Rajbhandari et al., SC'20): which elements' optimizer state a
// data rank owns.
//
//   flat:    | row 0 | row 1 |pad| row 2 ........ (cut)|............ |pad| row 3 | ...   padded_size()
//   buckets: |      bucket 0     |      bucket 1       |   bucket 2      | bucket 3
//   pieces:  | d = 0   | d = 1   | d = 0    | d = 1    | ...   each bucket: data_size equal pieces
//   shard:   | piece of bucket 0 | of 1 | of 2 | ...    shard_size() = padded_size() / data_size
//
// So a reduce-scatter of a bucket (Communicator::start_reduce_scatter on [begin, begin + count))
// leaves in place exactly the piece a data rank owns, and its optimizer state lives at a fixed
// place of a buffer of shard_size().
#pragma once

#include <cstdint>
#include <vector>

namespace tenax::parallel {

/// A parameter, in the order of the flat buffer.
struct ShardRow {
  std::int64_t size = 0;  ///< elements, on this rank
  /// A bucket begins here, so no bucket straddles this row's beginning. With a boundary before a
  /// row and before its successor, the row's cuts depend on its size, the target and data_size
  /// alone: equal on every stage that holds it (the tied embedding).
  bool starts_bucket = false;
};

/// Elements [begin, begin + count) of the flat buffer: parts of rows [first_row, end_row) and
/// padding. Reducible once those rows' gradients are complete. Rows are cut only when larger than
/// the target.
struct Bucket {
  std::int64_t begin = 0, count = 0;
  int first_row = 0, end_row = 0;
  bool operator==(const Bucket&) const = default;
};

/// What a data rank owns of one bucket: flat elements [flat_begin, flat_begin + count), whose state
/// is at shard_offset of its shard.
struct OwnedPiece {
  std::int64_t flat_begin = 0, count = 0, shard_offset = 0;
  bool operator==(const OwnedPiece&) const = default;
};

/// What a data rank owns of one row: the row's elements [row_begin, row_begin + count), padding
/// left out.
struct OwnedRange {
  std::int64_t row_begin = 0, count = 0, shard_offset = 0;
  bool operator==(const OwnedRange&) const = default;
};

/// Pure and immutable: the same arguments give the same map on every rank.
class ShardMap {
 public:
  /// Rows, pieces and shard offsets begin at multiples of this many elements (64 bytes of fp32).
  static constexpr std::int64_t kAlignment = 16;

  /// target_bucket_bytes: at `element_bytes` (of a gradient) an element; padding makes a bucket
  /// exceed it by less than (data_size + 1) × kAlignment elements. It groups rows smaller than that
  /// and cuts larger ones evenly.
  ShardMap(std::vector<ShardRow> rows, std::int64_t target_bucket_bytes, std::int64_t element_bytes,
           int data_size);

  int rows() const { return static_cast<int>(rows_.size()); }
  int data_size() const { return data_size_; }
  std::int64_t row_offset(int row) const { return row_offsets_[static_cast<std::size_t>(row)]; }
  const std::vector<std::int64_t>& row_offsets() const { return row_offsets_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::int64_t padded_size() const { return padded_size_; }
  std::int64_t shard_size() const { return padded_size_ / data_size_; }

  /// One piece a bucket, in bucket order.
  OwnedPiece owned_piece(const Bucket& bucket, int data_rank) const;
  /// What data_rank owns of `row`, in increasing order; empty if nothing.
  std::vector<OwnedRange> owned_ranges(int row, int data_rank) const;

 private:
  void add_cut_row(int row, std::int64_t target);

  std::vector<ShardRow> rows_;
  int data_size_;
  std::int64_t padded_size_ = 0;
  std::vector<std::int64_t> row_offsets_;
  std::vector<Bucket> buckets_;
};

}  // namespace tenax::parallel
