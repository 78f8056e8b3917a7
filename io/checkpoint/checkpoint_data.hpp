// The elements of a checkpoint. Each rank writes and reads its own ranges at their place in the
// file. It does so a few megabytes at a time: in between, ranks hear of each other's failures.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/checkpoint/checkpoint_info.hpp"
#include "io/posix_file.hpp"

namespace tenax::io {

/// Walks over ranges × parts in slices of bounded size; resumable.
class RangeCursor {
 public:
  /// `count` elements of `range`, from local element `local_begin`.
  struct Slice {
    const StateRange* range;
    const StatePart* part;  ///< a part of the range
    std::int64_t local_begin, count;
  };
  explicit RangeCursor(std::vector<StateRange> ranges) : ranges_(std::move(ranges)) {}
  /// Calls `visit` for the next slices, about `bytes` in all. Returns false once all are visited.
  bool advance(std::int64_t bytes, const std::function<void(const Slice&)>& visit);

 private:
  std::vector<StateRange> ranges_;
  std::size_t range_ = 0;
  std::size_t part_ = 0;
  std::int64_t position_ = 0;  ///< within the range
};

/// One rank's side of writing. The ranges' memory must not change until all is written.
class RangeWriter {
 public:
  /// Takes the primary ones of `ranges`. create_checkpoint_file() made `file` and returned `info`,
  /// which must outlive this object.
  RangeWriter(const std::filesystem::path& file, const CheckpointInfo& info,
              std::span<const StateRange> ranges);
  /// Writes about `bytes` more, down to the disk. Returns false once all are there.
  bool write_some(std::int64_t bytes);
  std::uint64_t checksum() const { return checksum_; }  ///< covers what was written; part of the seal's

 private:
  void write_slice(const RangeCursor::Slice& slice);
  const CheckpointInfo& info_;
  PosixFile file_;
  RangeCursor cursor_;
  std::uint64_t checksum_ = 0;
};

/// One rank's side of reading: fills every range, primary or not. Padding becomes zero, and so do
/// parts that the file does not have.
class RangeReader {
 public:
  /// `file` and `info` must outlive this object. Throws kernels::Error(rank) if the file lacks a
  /// parameter or holds it in another shape.
  RangeReader(const PosixFile& file, const CheckpointInfo& info, std::span<const StateRange> ranges);
  bool read_some(std::int64_t bytes);

 private:
  void read_slice(const RangeCursor::Slice& slice);
  const CheckpointInfo& info_;
  const PosixFile& file_;
  RangeCursor cursor_;
};

}  // namespace tenax::io
