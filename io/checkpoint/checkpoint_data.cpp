#include "io/checkpoint/checkpoint_data.hpp"

#include <algorithm>

#include "io/checksum.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

constexpr std::int64_t kElementBytes = sizeof(float);

std::vector<StateRange> primary_of(std::span<const StateRange> ranges) {
  std::vector<StateRange> primary;
  std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(primary),
               [](const auto& r) { return r.primary; });
  return primary;
}

/// Calls `visit(memory, logical_begin, count)` for the runs of a slice.
template <class Visit>
void for_each_run(const RangeCursor::Slice& slice, const Visit& visit) {
  float* const data = slice.part->data;
  slice.range->layout.for_each_run(slice.local_begin, slice.local_begin + slice.count, [&](const auto& run) {
    visit(data + (run.local_begin - slice.range->local_begin), run.logical_begin, run.count);
  });
}

std::size_t bytes_of(std::int64_t elements) { return static_cast<std::size_t>(elements * kElementBytes); }

}  // namespace

bool RangeCursor::advance(std::int64_t bytes, const std::function<void(const Slice&)>& visit) {
  std::int64_t elements = std::max<std::int64_t>(bytes / kElementBytes, 1);
  while (range_ < ranges_.size() && elements > 0) {
    const StateRange& range = ranges_[range_];
    const std::int64_t count = std::min(elements, range.count - position_);
    if (count > 0) visit({&range, &range.parts[part_], range.local_begin + position_, count});
    elements -= count;
    position_ += count;
    if (position_ < range.count) continue;
    position_ = 0;
    if (++part_ == range.parts.size()) part_ = 0, ++range_;
  }
  return range_ < ranges_.size();
}

RangeWriter::RangeWriter(const std::filesystem::path& file, const CheckpointInfo& info,
                         std::span<const StateRange> ranges)
    : info_(info), file_(PosixFile::open_to_write(file)), cursor_(primary_of(ranges)) {}

bool RangeWriter::write_some(std::int64_t bytes) {
  const bool more = cursor_.advance(bytes, [&](const auto& slice) { write_slice(slice); });
  file_.sync();
  return more;
}

void RangeWriter::write_slice(const RangeCursor::Slice& slice) {
  const StoredParameter* const parameter = info_.find(slice.range->name);
  assert(parameter != nullptr && parameter->shape == slice.range->layout.logical);
  const std::int64_t offset = parameter->find(slice.part->group)->offset;
  for_each_run(slice, [&](const float* memory, std::int64_t logical_begin, std::int64_t count) {
    const std::int64_t at = offset + logical_begin * kElementBytes;
    file_.write({reinterpret_cast<const std::byte*>(memory), bytes_of(count)}, at);
    checksum_ += checksum_of_words(memory, count, at / kElementBytes);
  });
}

RangeReader::RangeReader(const PosixFile& file, const CheckpointInfo& info,
                         std::span<const StateRange> ranges)
    : info_(info), file_(file), cursor_({ranges.begin(), ranges.end()}) {
  for (const StateRange& range : ranges) {
    const StoredParameter* const stored = info.find(range.name);
    if (stored != nullptr && stored->shape == range.layout.logical) continue;
    const std::string has = stored == nullptr ? "is missing" : "has the shape " + stored->shape.to_string();
    throw kernels::Error(kernels::Scope::rank, file.path().string() +
                                                   " does not fit this model: " + range.name + " " + has +
                                                   ", but should have " + range.layout.logical.to_string());
  }
}

bool RangeReader::read_some(std::int64_t bytes) {
  return cursor_.advance(bytes, [&](const auto& slice) { read_slice(slice); });
}

void RangeReader::read_slice(const RangeCursor::Slice& slice) {
  float* const begin = slice.part->data + (slice.local_begin - slice.range->local_begin);
  const StoredPart* const stored = info_.find(slice.range->name)->find(slice.part->group);
  float* filled = begin;  // up to here; what no run covers is padding, or not in the file
  if (stored != nullptr)
    for_each_run(slice, [&](float* memory, std::int64_t logical_begin, std::int64_t count) {
      std::fill(filled, memory, 0.0F);
      file_.read({reinterpret_cast<std::byte*>(memory), bytes_of(count)},
                 stored->offset + logical_begin * kElementBytes);
      filled = memory + count;
    });
  std::fill(filled, begin + slice.count, 0.0F);
}

}  // namespace tenax::io
