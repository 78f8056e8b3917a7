#include "parallel/layout/batch_plan.hpp"

#include <cassert>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/error.hpp"

namespace tenax::parallel {

BatchPlan BatchPlan::uniform(SampleRange samples, std::int64_t micro_batch_size, int data_parallel_size,
                             int data_rank) {
  const std::int64_t unit = micro_batch_size * data_parallel_size;
  if (unit < 1 || samples.count < 1 || samples.count % unit != 0)
    throw kernels::Error(
        kernels::Scope::usage,
        "batch.global_batch_size = " + std::to_string(samples.count) +
            " must be a multiple of batch.micro_batch_size × parallel.data_parallel_size = " +
            std::to_string(micro_batch_size) + " × " + std::to_string(data_parallel_size));
  const int microbatches = static_cast<int>(samples.count / unit);
  return BatchPlan(samples.first, micro_batch_size,
                   std::vector<int>(static_cast<std::size_t>(data_parallel_size), microbatches), data_rank);
}

BatchPlan::BatchPlan(std::int64_t first_sample, std::int64_t micro_batch_size,
                     std::vector<int> microbatches_of_data_rank, int data_rank)
    : micro_batch_size_(micro_batch_size),
      microbatches_of_data_rank_(std::move(microbatches_of_data_rank)),
      data_rank_(data_rank) {
  assert(micro_batch_size >= 1 && data_rank >= 0 && data_rank < data_parallel_size());
  const auto begin = microbatches_of_data_rank_.begin();
  for ([[maybe_unused]] const int count : microbatches_of_data_rank_) assert(count >= 0);
  share_begin_ = first_sample + micro_batch_size * std::accumulate(begin, begin + data_rank, std::int64_t{0});
  samples_ = {first_sample,
              micro_batch_size * std::accumulate(begin, microbatches_of_data_rank_.end(), std::int64_t{0})};
}

int BatchPlan::microbatches_of(int data_rank) const {
  assert(data_rank >= 0 && data_rank < data_parallel_size());
  return microbatches_of_data_rank_[static_cast<std::size_t>(data_rank)];
}

std::int64_t BatchPlan::sample_index(int microbatch, std::int64_t i) const {
  assert(microbatch >= 0 && microbatch < microbatches() && i >= 0 && i < micro_batch_size_);
  return share_begin_ + microbatch * micro_batch_size_ + i;
}

}  // namespace tenax::parallel
