// GatherPlan: how a few numbers of each rank come to all ranks of a ring.
#pragma once

#include "comm/ftar/exchange_plan.hpp"
#include "kernels/tensor.hpp"

namespace tenax::comm {

/// A bucket has N equal portions, one for each rank's numbers. They collect on the way round, and the
/// rest goes round once more, so that a rank sends two chunks at most:
///
///     turn 0   rank r sends portions 0 … r to the rank after it; rank N − 1 nothing
///     turn 1   rank N − 1 sends portions 1 … N − 1, rank r portions r + 2 … N − 1
///
/// These are 2(N − 1) chunks one after the other. A ring in which each rank's portion goes round by
/// itself takes N − 1 turns of N chunks: less where each rank has a processor to itself and longer
/// where they share some, as each chunk wakes a thread.
class GatherPlan final : public ExchangePlan {
 public:
  /// `elements`: of all portions. There are as many columns as chunks of S bytes hold them: as a rule one.
  GatherPlan(std::int64_t elements, kernels::DType dtype, const RingShape& shape);

  int columns() const override { return columns_; }
  std::int64_t turns() const override { return 2; }
  Place sent(std::int64_t turn, int column) const override { return place(turn, column, index_); }
  Place received(std::int64_t turn, int column) const override {
    return place(turn, column, (index_ + ranks_ - 1) % ranks_);
  }
  std::int64_t received_before(std::int64_t turn) const override {
    return index_ == 0 && turn == 0 ? 0 : turn + 1;
  }
  bool adds(std::int64_t) const override { return false; }
  bool completes(std::int64_t) const override { return false; }
  bool sends_own(std::int64_t) const override { return false; }

 private:
  Place place(std::int64_t turn, int column, int rank) const;

  int ranks_, index_, columns_ = 1;
  std::int64_t portion_elements_;
};

}  // namespace tenax::comm
