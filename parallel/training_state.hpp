// TrainingState: what one rank holds between steps: weights, gradients, and its ZeRO-1 shard of the AdamW
// state.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"
#include "model/parameter_table.hpp"
#include "parallel/shard_map.hpp"

namespace tenax::parallel {

/// AdamW as torch.optim.AdamW; decay acts on tensors of two dimensions.
struct AdamWSettings {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.1;
};

/// A stretch of one parameter whose optimizer state this rank owns: the unit of update, norm and checkpoint.
/// Tensors are views of the TrainingState's buffers, [count].
struct OwnedState {
  int row = 0;                 ///< in the ParameterTable
  std::int64_t row_begin = 0;  ///< first element, in the rank's flattened part of the row
  std::int64_t count = 0;
  kernels::Tensor master, gradient, exp_avg, exp_avg_sq;  ///< accumulation type
  kernels::Tensor compute;  ///< the weights that the model reads; absent where `master` is them
};

/// Bytes per rank, for the plan: everything but activations.
struct StateMemory {
  std::size_t weights = 0, gradients = 0, optimizer = 0;
  std::size_t total() const { return weights + gradients + optimizer; }
};

/// Weights and gradients are whole on every data rank; master weights and moments are sharded over the data
/// group (ZeRO-1). In fp32 and fp64 the master weights are the weights themselves.
class TrainingState {
 public:
  /// Places the rows of `table`. All references must outlive the state.
  TrainingState(model::ParameterTable& table, kernels::DType compute_dtype, comm::Communicator& data_group,
                comm::Communicator& embedding_group, kernels::Device& device, kernels::Stream& stream);

  static ShardMap plan_shards(const model::ParameterTable& table, kernels::DType compute_dtype,
                              int data_size);
  static StateMemory plan_memory(const ShardMap& shards, kernels::DType compute_dtype);

  const model::ParameterTable& table() const { return table_; }
  const ShardMap& shards() const { return shards_; }
  kernels::Tensor weights() const { return weights_; }
  kernels::Tensor gradients() const { return gradients_; }
  const std::vector<OwnedState>& owned() const { return owned_; }

  /// Sums the tied embedding's gradient over first and last stage. After the data-parallel reduce-scatter.
  void sum_tied_gradient();
  /// This rank's part of the squared global norm: every element of the model is counted by exactly one rank.
  /// Waits for the stream.
  double sum_of_squares(kernels::Deadline deadline);
  /// AdamW on the owned stretches with gradient · gradient_scale, then the weights go to the whole data
  /// group. `step` counts from 1.
  void update(const AdamWSettings& settings, double learning_rate, std::int64_t step, double gradient_scale,
              kernels::Deadline deadline);
  /// After the master weights were written from outside (initialisation, checkpoint): weights everywhere
  /// follow.
  void publish_weights(kernels::Deadline deadline);

 private:
  void collect_owned();
  /// All-gathers every bucket; `prepare` runs before a bucket is sent.
  template <class Prepare>
  void gather_buckets(kernels::Deadline deadline, Prepare prepare);

  model::ParameterTable& table_;
  comm::Communicator& data_group_;
  comm::Communicator& embedding_group_;
  kernels::Kernels& kernels_;
  kernels::Stream& stream_;
  ShardMap shards_;
  std::unique_ptr<kernels::Buffer> weight_memory_, gradient_memory_, optimizer_memory_, norm_memory_;
  kernels::Tensor weights_, gradients_, master_shard_, exp_avg_, exp_avg_sq_;
  std::vector<OwnedState> owned_;
  std::vector<std::pair<std::size_t, std::size_t>> owned_of_bucket_;  // [begin, end) in owned_
};

}  // namespace tenax::parallel
