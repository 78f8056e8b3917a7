#include "io/tokens/token_sequence.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tenax::io {
namespace {

std::vector<std::int64_t> ends_of(const TokenSequence::Files& files, std::int64_t seq_length) {
  std::vector<std::int64_t> ends;
  std::int64_t windows = 0;
  for (const auto& file : files) {
    assert(file->size() > seq_length);
    ends.push_back(windows += WindowOrder::windows_in(file->size(), seq_length));
  }
  return ends;
}

}  // namespace

TokenSequence::TokenSequence(Files files, SampleOrder order, std::int64_t seed, std::int64_t seq_length)
    : files_(std::move(files)),
      end_window_(ends_of(files_, seq_length)),
      seq_length_(seq_length),
      order_(order, seed, end_window_.back()) {}

TokenSequence::Place TokenSequence::place_of(std::int64_t index) const {
  const std::int64_t window = order_.window_of(index);
  const auto end = std::upper_bound(end_window_.begin(), end_window_.end(), window);
  const std::int64_t before = end == end_window_.begin() ? 0 : *(end - 1);
  return {files_[static_cast<std::size_t>(end - end_window_.begin())].get(), (window - before) * seq_length_};
}

}  // namespace tenax::io
