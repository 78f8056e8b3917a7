// BatchPlan: which sequences of a step's global batch one data-parallel pipeline computes, as
// microbatches.
#pragma once

#include <cstdint>
#include <vector>

namespace tenax::parallel {

/// Pure and immutable. Data rank d computes a contiguous share of the global batch, in microbatches
/// of `micro_batch_size` sequences; shares follow each other in data-rank order. How many
/// microbatches a pipeline computes is its own affair: shares may differ, and gradients are still
/// right, because they are sums over sequences divided once by the tokens of the global batch.
class BatchPlan {
 public:
  /// Equal shares. Throws Error(usage) naming the sizes when global_batch_size is not a multiple of
  /// micro_batch_size × data_parallel_size.
  static BatchPlan uniform(std::int64_t global_batch_size, std::int64_t micro_batch_size,
                           int data_parallel_size, int data_rank);

  /// microbatches_of_data_rank: each ≥ 1; its size is the data-parallel size.
  BatchPlan(std::int64_t micro_batch_size, std::vector<int> microbatches_of_data_rank, int data_rank);

  int data_rank() const { return data_rank_; }
  int data_parallel_size() const { return static_cast<int>(microbatches_of_data_rank_.size()); }
  std::int64_t micro_batch_size() const { return micro_batch_size_; }
  std::int64_t global_batch_size() const { return global_batch_size_; }
  /// Microbatches of this pipeline, and of pipeline `data_rank`.
  int microbatches() const { return microbatches_of(data_rank_); }
  int microbatches_of(int data_rank) const;

  /// The place in the endless sequence of samples, step · B + b, of sequence `i` of `microbatch`:
  /// what the data order (io/tokens/window_order.hpp) maps to a window of tokens. b is the place in
  /// the global batch.
  std::int64_t sample_index(std::int64_t step, int microbatch, std::int64_t i) const;

 private:
  std::int64_t micro_batch_size_;
  std::vector<int> microbatches_of_data_rank_;
  int data_rank_;
  std::int64_t global_batch_size_;
  std::int64_t share_begin_;  ///< place in the global batch of this pipeline's first sequence
};

}  // namespace tenax::parallel
