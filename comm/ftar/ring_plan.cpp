#include "comm/ftar/ring_plan.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::comm {
namespace {

constexpr std::int64_t kLine = 16;  // chunks begin at multiples of so many elements: cache lines of floats

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t whole_lines(std::int64_t elements) { return divide_up(elements, kLine) * kLine; }

}  // namespace

// Partitions are about equal, so that none is a short rest, whose turns would take as long as a full one's.
RingPlan::RingPlan(std::int64_t elements, kernels::DType dtype, const RingShape& shape)
    : ranks_(shape.ranks), index_(shape.index), columns_(shape.chunks_in_flight), elements_(elements) {
  assert(ranks_ >= 2 && index_ >= 0 && index_ < ranks_ && columns_ >= 1 && elements_ > 0);
  const auto fitting = static_cast<std::int64_t>(shape.chunk_bytes / kernels::bytes_of(dtype));
  chunk_elements_ = std::max(kLine, fitting / kLine * kLine);
  const std::int64_t most = chunk_elements_ * columns_ * ranks_;
  const std::int64_t even = divide_up(elements_, divide_up(elements_, most));
  partition_elements_ = divide_up(even, kLine * ranks_) * kLine * ranks_;
  partitions_ = divide_up(elements_, partition_elements_);
}

RingPlan::Place RingPlan::sent(std::int64_t turn, int column) const { return place(turn, column, index_); }

RingPlan::Place RingPlan::received(std::int64_t turn, int column) const {
  return place(turn, column, (index_ + ranks_ - 1) % ranks_);
}

/// What `rank` sends. A portion's columns are about equal too.
RingPlan::Place RingPlan::place(std::int64_t turn, int column, int rank) const {
  const std::int64_t partition = turn / turns_per_partition();
  const auto step = static_cast<int>(turn % turns_per_partition());
  const bool is_first_time_round = step < ranks_ - 1;
  const int portion = is_first_time_round ? rank - step : rank + 1 - (step - (ranks_ - 1));
  const std::int64_t first = partition * partition_elements_;
  const std::int64_t elements = std::min(partition_elements_, elements_ - first);
  const std::int64_t portion_elements = whole_lines(divide_up(elements, ranks_));
  const std::int64_t length =
      whole_lines(divide_up(portion_elements, divide_up(portion_elements, chunk_elements_)));
  const std::int64_t portion_begin = std::min(elements, portion_elements * ((portion + 2 * ranks_) % ranks_));
  const std::int64_t portion_end = std::min(elements, portion_begin + portion_elements);
  const std::int64_t begin = std::min(portion_end, portion_begin + length * column);
  return {first + begin, std::min(length, portion_end - begin)};
}

}  // namespace tenax::comm
