// RingPlan: which elements of a bucket travel when round the ring.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor.hpp"

namespace tenax::comm {

/// Of a ring of ranks, of which each sends to the one after it. Equal on all of them but for
/// `index`.
struct RingShape {
  int ranks = 1, index = 0;
  std::size_t chunk_bytes = 0;  ///< S, at most so many in a chunk
  int chunks_in_flight = 1;     ///< C
  /// Nothing is added: the bucket has N equal portions, one for each rank's values.
  bool gathers = false;
};

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
/// in the order of ranks p, p + 1, …, p − 1, wherever that happens. A bucket that is gathered is one
/// partition, of which each rank has its own portion: N − 1 turns, in which rank r sends portion
/// r − turn.
class RingPlan {
 public:
  /// Elements [begin, begin + elements) of the bucket. A chunk without elements is not sent.
  struct Place {
    std::int64_t begin = 0, elements = 0;
  };

  RingPlan(std::int64_t elements, kernels::DType dtype, const RingShape& shape);

  int columns() const { return columns_; }
  /// Of all partitions; turns are numbered through them.
  std::int64_t turns() const { return partitions_ * turns_per_partition(); }
  Place sent(std::int64_t turn, int column) const;
  Place received(std::int64_t turn, int column) const;

  /// What is received in this turn is added to the own values; else it is a complete sum.
  bool adds(std::int64_t turn) const { return !gathers_ && turn % turns_per_partition() < ranks_ - 1; }
  /// The sum that this turn forms is complete.
  bool completes(std::int64_t turn) const { return !gathers_ && turn % turns_per_partition() == ranks_ - 2; }
  /// What this turn sends is the rank's own values: nothing has to be received before.
  bool begins(std::int64_t turn) const { return turn % turns_per_partition() == 0; }

 private:
  std::int64_t turns_per_partition() const { return (gathers_ ? 1 : 2) * (ranks_ - 1); }
  Place place(std::int64_t turn, int column, int rank) const;

  int ranks_, index_, columns_;
  bool gathers_;
  std::int64_t elements_, chunk_elements_, partition_elements_, partitions_;
};

}  // namespace tenax::comm
