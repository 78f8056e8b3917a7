// RingPlan: how a bucket is summed over the ranks of a ring.
#pragma once

#include "comm/ftar/exchange_plan.hpp"
#include "kernels/tensor.hpp"

namespace tenax::comm {

/// Ring reduce-scatter and all-gather (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009)
/// with FTAR's partitions (FT-HSDP, section 4.2). A bucket is cut into partitions of at most S·C·N
/// bytes, one after the other; a partition into N portions, one a rank; a portion into at most C
/// chunks, its columns. A partition takes 2(N − 1) turns. In each of them a rank sends one portion
/// to the rank after it and receives one from the rank before, column by column:
///
///     turn 0 … N − 2        rank r sends portion r − turn: its own values, then partial sums
///     turn N − 1 … 2N − 3   it sends portion r + 1 − (turn − (N − 1)): complete sums
///
/// So what is received in one turn is what the next turn sends. The values of portion p are added
/// in the order of ranks p, p + 1, …, p − 1, wherever that happens.
class RingPlan final : public ExchangePlan {
 public:
  RingPlan(std::int64_t elements, kernels::DType dtype, const RingShape& shape);

  int columns() const override { return columns_; }
  /// Of all partitions; turns are numbered through them.
  std::int64_t turns() const override { return partitions_ * turns_per_partition(); }
  Place sent(std::int64_t turn, int column) const override;
  Place received(std::int64_t turn, int column) const override;
  std::int64_t received_before(std::int64_t turn) const override { return sends_own(turn) ? 0 : turn; }
  bool adds(std::int64_t turn) const override { return turn % turns_per_partition() < ranks_ - 1; }
  bool completes(std::int64_t turn) const override { return turn % turns_per_partition() == ranks_ - 2; }
  bool sends_own(std::int64_t turn) const override { return turn % turns_per_partition() == 0; }

 private:
  std::int64_t turns_per_partition() const { return 2 * (ranks_ - 1); }
  Place place(std::int64_t turn, int column, int rank) const;

  int ranks_, index_, columns_;
  std::int64_t elements_, chunk_elements_, partition_elements_, partitions_;
};

}  // namespace tenax::comm
