#include "comm/ftar/gather_plan.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::comm {

GatherPlan::GatherPlan(std::int64_t elements, kernels::DType dtype, const RingShape& shape)
    : ranks_(shape.ranks), index_(shape.index), portion_elements_(elements / shape.ranks) {
  assert(ranks_ >= 2 && index_ >= 0 && index_ < ranks_ && elements > 0 && elements % ranks_ == 0);
  const auto chunk_elements = static_cast<std::int64_t>(shape.chunk_bytes / kernels::bytes_of(dtype));
  assert(chunk_elements > 0);
  columns_ = static_cast<int>((elements + chunk_elements - 1) / chunk_elements);
}

/// What `rank` sends. A column has the same elements in both turns: what it sends on is what it has received.
ExchangePlan::Place GatherPlan::place(std::int64_t turn, int column, int rank) const {
  const bool is_last = rank == ranks_ - 1;
  const int first = turn == 0 ? 0 : is_last ? 1 : rank + 2;
  const int end = turn == 0 ? (is_last ? 0 : rank + 1) : ranks_;
  const std::int64_t length = (ranks_ * portion_elements_ + columns_ - 1) / columns_;
  const std::int64_t begin = std::max(first * portion_elements_, length * column);
  return {begin, std::max<std::int64_t>(0, std::min(end * portion_elements_, length * (column + 1)) - begin)};
}

}  // namespace tenax::comm
