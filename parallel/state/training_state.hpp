// TrainingState: what one rank holds between steps: weights, gradients, and its ZeRO-1 shard of the
// optimizer's state.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/transport/shared_memory.hpp"
#include "kernels/kernels.hpp"
#include "kernels/update_coefficients.hpp"
#include "model/parameter_table.hpp"
#include "parallel/layout/shard_map.hpp"
#include "parallel/state/offloaded_optimizer.hpp"
#include "parallel/state/optimizer.hpp"

namespace tenax::parallel {

/// A stretch of one parameter whose optimizer state this rank owns. Updates, the norm and
/// checkpoints go by stretches. Tensors are views of the TrainingState's buffers, [count].
struct OwnedState {
  int row = 0;                 ///< in the ParameterTable
  std::int64_t row_begin = 0;  ///< first element, in the rank's flattened part of the row
  std::int64_t count = 0;
  kernels::Tensor master, gradient;      ///< accumulation type, as the moments
  std::vector<kernels::Tensor> moments;  ///< in the order of Optimizer::moments
  kernels::Tensor compute;               ///< what the model reads; absent where that is `master`
};

/// Bytes per rank, for the plan: everything but activations.
struct StateMemory {
  std::size_t weights = 0, gradients = 0, optimizer = 0;
  std::size_t total() const { return weights + gradients + optimizer; }
};

/// What a rank that changes places uses again of the memory of its old state. Between steps gradients
/// are of no use to anybody; all else must stay as it is while the old state may be needed.
enum class StateReuse {
  nothing,
  gradients,  ///< for gradients
  both        ///< that of the gradients for weights, and, from the next passes on, the other way round
};
/// How much fits.
StateReuse plan_reuse(const StateMemory& has, const StateMemory& needs);

/// The memory of a state. Two states may own it, of which one is in use.
struct StateBuffers {
  std::shared_ptr<kernels::Buffer> weights, gradients, optimizer;
  std::shared_ptr<kernels::Buffer> spare;  ///< for the optimizer's state of another place; may be null
};

/// Where norm and update find the sums of the owned gradients.
enum class SumMemory {
  in_place,  ///< in the gradients
  apart      ///< in a buffer of shard_size(), so that the replica's own sums stay
};

/// Where master weights and moments are between updates.
enum class OptimizerHome {
  device,
  host  ///< pinned memory of the host, from where they come to the device for each update (OffloadedOptimizer)
};

/// Σ g² of a stretch of one parameter.
struct RowSquares {
  int row = 0;  ///< in the ParameterTable
  double squares = 0;
};

/// What a rank owns of one bucket, [elements] each, accumulation type.
struct GradientPiece {
  kernels::Tensor own;  ///< in the gradients: summed over this replica's samples
  kernels::Tensor
      sum;  ///< what norm and update read; another's memory than `own` only where SumMemory::apart
};

/// Weights and gradients are whole on every data rank. Master weights and moments are sharded over
/// the data group (ZeRO-1). In fp32 and fp64 the master weights are the weights themselves.
///
/// An update runs the optimizer on the owned stretches; decay acts on tensors of two dimensions.
/// Each bucket's weights go to the whole data group as soon as they are updated. Several ranks
/// agree on an update first: start_sum_of_squares(), squares(), a vote, start_update(),
/// finish_update(). A rank that is alone leaves the decision to the device, and its host does not
/// wait: set_rule(), update_if_finite().
class TrainingState {
 public:
  /// Places the rows of `table`. All references must outlive the state. `given`: memory that is used
  /// as it is, each of as many bytes as plan_memory() says or more; where null, and where SumMemory is
  /// apart, new memory is allocated. OptimizerHome::host: only on devices whose memory is not the host's.
  TrainingState(model::ParameterTable& table, kernels::DType compute_dtype, const Optimizer& optimizer,
                comm::Communicator& data_group, comm::Communicator& embedding_group, kernels::Device& device,
                kernels::Stream& stream, SumMemory sum_memory = SumMemory::in_place,
                const StateBuffers& given = {}, OptimizerHome home = OptimizerHome::device);

  static ShardMap plan_shards(const model::ParameterTable& table, kernels::DType compute_dtype,
                              int data_size);
  static StateMemory plan_memory(const ShardMap& shards, kernels::DType compute_dtype,
                                 const Optimizer& optimizer, SumMemory sum_memory = SumMemory::in_place);
  /// OptimizerHome::host: what plan_memory() calls `optimizer` is the host's; this is the device's part.
  static std::size_t plan_offload(const ShardMap& shards, kernels::DType compute_dtype,
                                  const Optimizer& optimizer);

  const model::ParameterTable& table() const { return table_; }
  const Optimizer& optimizer() const { return optimizer_; }
  const ShardMap& shards() const { return shards_; }
  kernels::Tensor weights() const { return weights_; }
  kernels::Tensor gradients() const { return gradients_; }
  const std::vector<OwnedState>& owned() const { return owned_; }
  GradientPiece piece(int bucket) const;
  StateBuffers buffers() const {
    return {weight_memory_, gradient_memory_, optimizer_memory_, spare_memory_};
  }
  /// What is used again for a state of another place on this rank (plan_reuse()): its optimizer's state
  /// lies in the spare memory where that is large enough, and this one's memory is its spare where it is
  /// as large. The rest is null.
  StateBuffers buffers_for(const StateMemory& needs) const;
  /// SumMemory::apart, in host memory: what all pieces lie in, which other replicas on this host may
  /// read. Else empty.
  const std::vector<std::shared_ptr<const comm::SharedMemory>>& shared_memory() const {
    return shared_memory_;
  }

  /// Optional, once before a step's update: what the update begins with comes from its home as soon as the
  /// stream gets here. Does nothing where all is there.
  void fetch_ahead() {
    if (offload_) offload_->fetch_ahead();
  }
  /// The host has put another state into its home: what has come from there is not used.
  void forget_ahead() {
    if (offload_) offload_->forget_ahead();
  }
  /// Enqueues: all gradients become zero.
  void zero_gradients();
  /// SumMemory::apart. Enqueues: the own sums are kept where the sums over replicas were, which are
  /// lost, and later added to the own sums of other samples.
  void keep_own_sums();
  void add_kept_sums();

  /// Sums the tied embedding's gradient over first and last stage. To be called after the
  /// data-parallel reduce-scatter.
  void sum_tied_gradient();
  /// Enqueues this rank's part of the squared global norm. Exactly one rank counts each element of
  /// the model.
  void start_sum_of_squares();
  /// That part. Waits for the stream.
  double squares(kernels::Deadline deadline);
  /// The same of each stretch that this rank counts, after squares(). SumMemory::apart in host memory; else nothing.
  const std::vector<RowSquares>& squares_of_rows() const { return squares_of_rows_; }
  /// SumMemory::apart in host memory; else nothing: the same of this replica's own sums, which are final. Waits for them.
  const std::vector<RowSquares>& own_squares_of_rows(kernels::Deadline deadline);
  /// SumMemory::apart: where this replica's own sums of a stretch of owned() are.
  kernels::Tensor own_gradient(const OwnedState& owned) const {
    return gradients_.part(shards_.row_offset(owned.row) + owned.row_begin, {owned.count});
  }
  /// `squares`: the global sum of squares. The previous update must have been waited for.
  void start_update(const kernels::UpdateRule& rule, double squares);
  /// What the stream runs from here on sees all new weights.
  void finish_update(kernels::Deadline deadline);

  /// The rule of the next update_if_finite(). The previous update must have been waited for.
  void set_rule(const kernels::UpdateRule& rule);
  /// For a rank that is alone: enqueues norm, clipping and update. The device changes nothing where
  /// the norm or one of `losses` is not finite. squares() then gives the norm's squares. Launched
  /// again as part of a graph, the update goes by the latest rule.
  void update_if_finite(const kernels::Tensor& losses);
  /// Brings master weights that were written from outside (initialisation, checkpoint) to all
  /// weights.
  void publish_weights(kernels::Deadline deadline);

 private:
  /// For gradients and their sums, where these are apart.
  std::shared_ptr<kernels::Buffer> allocate_pieces(kernels::Device& device, std::size_t bytes);
  void collect_owned();
  void collect_stretches();
  void apply_rule();
  void enqueue_update(std::span<const kernels::UpdateStretch> stretches);
  void update_bucket(std::size_t bucket);
  std::vector<std::vector<kernels::Tensor>> homes() const;
  /// Starts to all-gather every bucket. prepare(bucket) runs before a bucket is sent.
  template <class Prepare>
  void start_gather(Prepare prepare);

  model::ParameterTable& table_;
  const Optimizer& optimizer_;
  comm::Communicator& data_group_;
  comm::Communicator& embedding_group_;
  kernels::Kernels& kernels_;
  kernels::Stream& stream_;
  ShardMap shards_;
  std::vector<std::shared_ptr<const comm::SharedMemory>> shared_memory_;
  std::shared_ptr<kernels::Buffer> weight_memory_, gradient_memory_, sum_memory_, optimizer_memory_,
      spare_memory_;
  std::unique_ptr<kernels::Buffer> step_memory_, coefficient_memory_;
  kernels::Tensor weights_, gradients_, sum_shard_, master_shard_, coefficients_;  // sum_shard_: if apart
  std::vector<kernels::Tensor> moment_shards_;
  kernels::UpdateStep* step_;  // pinned
  std::vector<OwnedState> owned_;
  std::vector<kernels::UpdateStretch> stretches_;  // aligned with owned_
  std::vector<kernels::Tensor> counted_;           // gradients that are this rank's in the norm
  std::vector<RowSquares> squares_of_rows_;        // of them, where each is told apart
  std::vector<kernels::Tensor> own_counted_;       // the own sums of these
  std::vector<RowSquares> own_squares_of_rows_;
  std::vector<std::pair<std::size_t, std::size_t>> owned_of_bucket_;  // [begin, end) in owned_
  std::vector<std::int64_t> offset_in_piece_;                         // of each of owned_, in its bucket's
  std::unique_ptr<OffloadedOptimizer> offload_;                       // null: all is on the device
  std::vector<comm::TransferPtr> gathers_;                            // under way
};

}  // namespace tenax::parallel
