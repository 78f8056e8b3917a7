// GradientReducer: sums gradients over the data-parallel group, bucket by bucket, while backward
// still runs.
#pragma once

#include <functional>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/layout/shard_map.hpp"

namespace tenax::parallel {

/// A bucket's reduce-scatter starts when the last of its rows is final. Every rank of the group
/// announces rows in the same order, so all start the same buckets in the same order.
class GradientReducer {
 public:
  /// Is told of each bucket once a step, in any order: this rank's piece of it holds the group's
  /// sum as soon as the stream has run what it was given so far. May be empty.
  using BucketReady = std::function<void(int bucket)>;

  /// gradients: the flat buffer [shards.padded_size()]. References must outlive the reducer.
  GradientReducer(const ShardMap& shards, const kernels::Tensor& gradients, comm::Communicator& data_group,
                  kernels::Stream& stream, BucketReady bucket_ready = {});

  void begin_step();
  /// The gradients of rows [begin, end) will not change any more in this step.
  void rows_ready(int begin, int end);
  /// Waits for all buckets: afterwards each rank's owned pieces hold the sums. Every row must have
  /// been announced.
  void finish(kernels::Deadline deadline);

 private:
  struct BucketSum {
    int bucket;
    comm::TransferPtr transfer;  // null: told of
  };
  void tell(BucketSum& sum);

  const ShardMap& shards_;
  kernels::Tensor gradients_;
  comm::Communicator& data_group_;
  kernels::Stream& stream_;
  BucketReady bucket_ready_;
  std::vector<int> rows_missing_;  // per bucket
  std::vector<BucketSum> sums_;    // started in this step
};

}  // namespace tenax::parallel
