#include "parallel/execution/gradient_reducer.hpp"

#include <algorithm>
#include <utility>

namespace tenax::parallel {

GradientReducer::GradientReducer(const ShardMap& shards, const kernels::Tensor& gradients,
                                 comm::Communicator& data_group, kernels::Stream& stream,
                                 BucketReady bucket_ready)
    : shards_(shards),
      gradients_(gradients),
      data_group_(data_group),
      stream_(stream),
      bucket_ready_(std::move(bucket_ready)) {}

void GradientReducer::begin_step() {
  sums_.clear();
  rows_missing_.clear();
  for (const Bucket& bucket : shards_.buckets()) rows_missing_.push_back(bucket.end_row - bucket.first_row);
}

void GradientReducer::tell(BucketSum& sum) {
  sum.transfer.reset();
  if (bucket_ready_) bucket_ready_(sum.bucket);
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
      sums_.push_back({static_cast<int>(b), data_group_.start_reduce_scatter(
                                                stream_, gradients_.part(bucket.begin, {bucket.count}))});
  }
  for (BucketSum& sum : sums_)
    if (sum.transfer && sum.transfer->done()) tell(sum);
}

void GradientReducer::finish(kernels::Deadline deadline) {
  assert(sums_.size() == shards_.buckets().size());
  for (BucketSum& sum : sums_) {
    if (!sum.transfer) continue;
    sum.transfer->order_before(stream_, deadline);
    tell(sum);
  }
  sums_.clear();
}

}  // namespace tenax::parallel
