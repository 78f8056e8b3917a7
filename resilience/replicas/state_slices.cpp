#include "resilience/replicas/state_slices.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tenax::resilience {

StateSlices::StateSlices(const std::vector<io::StateRange>& ranges) {
  for (const io::StateRange& range : ranges) {
    const std::size_t bytes = static_cast<std::size_t>(range.count) * sizeof(float);
    for (const io::StatePart& part : range.parts) {
      parts_.push_back({reinterpret_cast<std::byte*>(part.data), bytes_, bytes});
      bytes_ += bytes;
    }
  }
}

std::size_t StateSlices::bytes_of(int slice) const {
  const std::size_t begin = static_cast<std::size_t>(slice) * kSliceBytes;
  assert(slice >= 0 && begin < bytes_);
  return std::min(kSliceBytes, bytes_ - begin);
}

// copy(data, offset, bytes): bytes of the state at `data` are those at `offset` of the slice.
template <class Copy>
void StateSlices::for_each_part(int slice, Copy copy) const {
  const std::size_t begin = static_cast<std::size_t>(slice) * kSliceBytes, end = begin + bytes_of(slice);
  auto part = std::upper_bound(parts_.begin(), parts_.end(), begin,
                               [](std::size_t at, const Part& p) { return at < p.begin + p.bytes; });
  for (; part != parts_.end() && part->begin < end; ++part) {
    const std::size_t from = std::max(begin, part->begin), to = std::min(end, part->begin + part->bytes);
    if (from < to) copy(part->data + (from - part->begin), from - begin, to - from);
  }
}

void StateSlices::read(int slice, std::span<std::byte> memory) const {
  assert(memory.size() == bytes_of(slice));
  for_each_part(slice, [&](const std::byte* data, std::size_t offset, std::size_t bytes) {
    std::memcpy(memory.data() + offset, data, bytes);
  });
}

void StateSlices::write(int slice, std::span<const std::byte> memory) const {
  assert(memory.size() == bytes_of(slice));
  for_each_part(slice, [&](std::byte* data, std::size_t offset, std::size_t bytes) {
    std::memcpy(data, memory.data() + offset, bytes);
  });
}

}  // namespace tenax::resilience
