// BatchPlan: which samples of a step one data-parallel pipeline computes, as microbatches.
#pragma once

#include <cstdint>
#include <vector>

namespace tenax::parallel {

/// Samples [first, first + count) of the endless sequence of samples, which training takes in
/// order: what the data order (io/tokens/window_order.hpp) maps to windows of tokens.
struct SampleRange {
  std::int64_t first = 0, count = 0;

  std::int64_t end() const { return first + count; }
  bool operator==(const SampleRange&) const = default;
};

/// Pure and immutable: of one step, or of a part of one. Data rank d computes a contiguous share of
/// the samples, in microbatches of `micro_batch_size` sequences; shares follow each other in
/// data-rank order. How many microbatches a pipeline computes is its own affair: shares may differ,
/// and gradients are still right, because they are sums over sequences divided once by the tokens
/// of the step.
class BatchPlan {
 public:
  /// Equal shares. Throws Error(usage) naming the sizes when samples.count is not a multiple of
  /// micro_batch_size × data_parallel_size.
  static BatchPlan uniform(SampleRange samples, std::int64_t micro_batch_size, int data_parallel_size,
                           int data_rank);

  /// microbatches_of_data_rank: its size is the data-parallel size. The plan is of the
  /// samples from `first_sample` on that fill these microbatches.
  BatchPlan(std::int64_t first_sample, std::int64_t micro_batch_size,
            std::vector<int> microbatches_of_data_rank, int data_rank);

  int data_rank() const { return data_rank_; }
  int data_parallel_size() const { return static_cast<int>(microbatches_of_data_rank_.size()); }
  std::int64_t micro_batch_size() const { return micro_batch_size_; }
  /// Of all pipelines together.
  SampleRange samples() const { return samples_; }
  /// Microbatches of this pipeline, and of pipeline `data_rank`.
  int microbatches() const { return microbatches_of(data_rank_); }
  int microbatches_of(int data_rank) const;

  /// The number of the sample that is sequence `i` of `microbatch`.
  std::int64_t sample_index(int microbatch, std::int64_t i) const;

 private:
  std::int64_t micro_batch_size_;
  std::vector<int> microbatches_of_data_rank_;
  int data_rank_;
  SampleRange samples_;
  std::int64_t share_begin_;  ///< this pipeline's first sample
};

}  // namespace tenax::parallel
