// GradientReducer: sums gradients over the data-parallel group, bucket by bucket, while backward
// still runs.
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "parallel/layout/shard_map.hpp"

namespace tenax::parallel {

/// A bucket's reduce-scatter starts when the last of its rows is final. Every rank of the group
/// announces rows in the same order, so all start the same buckets in the same order.
class GradientReducer {
 public:
  /// gradients: the flat buffer [shards.padded_size()]. References must outlive the reducer.
  GradientReducer(const ShardMap& shards, const kernels::Tensor& gradients, comm::Communicator& data_group,
                  kernels::Stream& stream);

  void begin_step();
  /// The gradients of rows [begin, end) will not change any more in this step.
  void rows_ready(int begin, int end);
  /// Waits for all buckets: afterwards each rank's owned pieces hold the sums. Every row must have
  /// been announced.
  void finish(kernels::Deadline deadline);

 private:
  const ShardMap& shards_;
  kernels::Tensor gradients_;
  comm::Communicator& data_group_;
  kernels::Stream& stream_;
  std::vector<int> rows_missing_;  // per bucket
  std::vector<comm::TransferPtr> transfers_;
};

}  // namespace tenax::parallel
