#include "parallel/execution/gradient_reducer.hpp"

#include <algorithm>

namespace tenax::parallel {

GradientReducer::GradientReducer(const ShardMap& shards, const kernels::Tensor& gradients,
                                 comm::Communicator& data_group, kernels::Stream& stream)
    : shards_(shards), gradients_(gradients), data_group_(data_group), stream_(stream) {}

void GradientReducer::begin_step() {
  transfers_.clear();
  rows_missing_.clear();
  for (const Bucket& bucket : shards_.buckets()) rows_missing_.push_back(bucket.end_row - bucket.first_row);
}

void GradientReducer::rows_ready(int begin, int end) {
  // Backward makes rows final from the last to the first; start buckets in that order too.
  for (std::size_t b = shards_.buckets().size(); b-- > 0;) {
    const Bucket& bucket = shards_.buckets()[b];
    const int rows = std::min(end, bucket.end_row) - std::max(begin, bucket.first_row);
    if (rows <= 0) continue;
    rows_missing_[b] -= rows;
    assert(rows_missing_[b] >= 0);
    if (rows_missing_[b] == 0)
      transfers_.push_back(
          data_group_.start_reduce_scatter(stream_, gradients_.part(bucket.begin, {bucket.count})));
  }
  for (const comm::TransferPtr& transfer : transfers_) transfer->done();  // moves on
}

void GradientReducer::finish(kernels::Deadline deadline) {
  assert(transfers_.size() == shards_.buckets().size());
  for (const comm::TransferPtr& transfer : transfers_) transfer->order_before(stream_, deadline);
  transfers_.clear();
}

}  // namespace tenax::parallel
