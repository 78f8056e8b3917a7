// Replica: this rank's part of a training replica: its groups, its pipeline stage, its state, and
// the parts of a step. GptReplica trains; EmulatedReplica takes the time that training would.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/timed_communicator.hpp"
#include "comm/world.hpp"
#include "kernels/update_coefficients.hpp"
#include "parallel/execution/step_observer.hpp"
#include "parallel/layout/process_grid.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/pipeline_runner.hpp"
#include "parallel/state/training_state.hpp"

namespace tenax::parallel {

/// This rank's share of the sums that all ranks must know before an update.
struct StepSums {
  double loss = 0;     ///< summed over tokens, nats; NaN where there is no data
  double squares = 0;  ///< summed over the gradient's elements that this rank counts; likewise
};

/// What the passes of a step, or of a part of one, compute on.
struct StepBatch {
  int microbatches = 0;  ///< of this pipeline; equal on all its ranks
  /// [microbatches, sequences, T + 1] tokens; may be empty where Replica::reads_tokens() is false.
  std::span<const std::int32_t> windows;
};

/// A training step is, in this order: passes, reduce, sum_tied, norm, a vote of all ranks on it,
/// update, gather. A replica of one rank, which needs no vote, has its device do all of that within
/// passes() (unless loss or norm are not finite, when it does not update), and the later calls have
/// nothing left to do.
class Replica {
 public:
  /// How long the collectives of a replica wait, where `deadline_s` is for one message.
  static double group_deadline_s(double deadline_s, bool fails_over);

  virtual ~Replica() = default;
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const Layout& layout() const { return layout_; }
  const ProcessGrid& grid() const { return grid_; }
  const GridCoordinates& coordinates() const { return coordinates_; }
  comm::ControlGroup& control() { return *control_; }
  /// Element-wise sums over all ranks, added in the order of their places: the same bits on every
  /// rank, and whichever rank has which place.
  void sum_over_ranks(std::span<double> values) {
    control_->all_reduce_sum(values, grid_.rank_of_position());
  }
  virtual PipelineRunner& pipeline() = 0;
  /// The tensor or data group, in which this rank's number is its coordinate. Null where it has
  /// none; other kinds have none to lend.
  virtual comm::Communicator* group(GroupKind kind) = 0;
  /// Collective, while no collective of a data group is under way: joins the ring of each data group
  /// in its own of `orders` (by the color of ProcessGrid::split), data coordinates round the ring.
  /// An empty one leaves its group's as it is. Sums keep every bit but for those of NCCL, which then
  /// adds in another order. Returns whether the groups have rings; where they have none nothing
  /// happens. Throws comm::AgreedError where a rank fails: then all rings are as they were.
  bool order_rings(const std::vector<std::vector<int>>& orders);
  virtual bool reads_tokens() const = 0;

  /// The pipeline's passes over `batch`, which begin the data-parallel sums as they go. Without
  /// microbatches the sums are zero. `observer` may be null. `rule`: of the update of a rank that
  /// is alone.
  virtual void passes(const StepBatch& batch, const kernels::UpdateRule& rule,
                      ScheduleObserver* observer) = 0;
  /// Waits for the data-parallel sums: each rank's owned gradients are sums over the batch.
  virtual void reduce() = 0;
  /// Where gradients are summed over replicas: `ready` is told of each piece that this rank owns,
  /// in any order, once passes() or reduce() made it final for whatever stands behind the stream's
  /// work of that time. Whoever is told reads piece.own, which stays as it is until the next passes,
  /// and writes piece.sum before sum_tied().
  using PieceReady = std::function<void(kernels::Stream& stream, int bucket, const GradientPiece& piece)>;
  virtual void on_piece_ready(PieceReady ready) = 0;
  /// Tells of all pieces once more: the sums over replicas did not come about.
  virtual void announce_pieces() = 0;
  /// The same, and other samples are to count too: passes() over those and reduce() come in
  /// between, which tell of nothing.
  virtual void keep_sums() = 0;
  virtual void add_kept_sums() = 0;
  /// Waits for what the device was given, and throws what went wrong with the groups' part of it: to be asked before
  /// other replicas may use the pieces that were told of.
  virtual void check_sums() = 0;
  /// The tied embedding's gradient over first and last stage.
  virtual void sum_tied() = 0;
  /// This rank's part of the loss of the last passes, summed over tokens. Waits for them.
  virtual double loss() = 0;
  /// The same, and its part of the norm. Waits for both. Then the device gives back memory that was let go of.
  virtual StepSums norm() = 0;
  /// Updates the owned shards; `squares`: the global sum. All votes said that all is finite.
  virtual void update(const kernels::UpdateRule& rule, double squares) = 0;
  /// The updated shards to every data rank.
  virtual void gather() = 0;
  /// What evaluate() is told of this rank once the passes are through: as many numbers on every rank.
  using Riders = std::function<std::vector<double>()>;
  struct Evaluation {
    double loss = 0;             ///< summed over the global batch of a forward pass alone
    std::vector<double> riders;  ///< their sums over the ranks
  };
  /// Equal on every rank. `riders` is asked again where passes turn out void.
  virtual Evaluation evaluate(const StepBatch& batch, const Riders& riders) = 0;

  /// Tells `observer`, which may be null, of each collective and update that has ended since the
  /// last call. `all`: waits for those under way; else a later call tells of them.
  virtual void report(StepObserver* observer, bool all);
  virtual kernels::Stream& stream() = 0;  ///< passes and updates run on it

 protected:
  /// Collective, with the same grid on all ranks. What `context` refers to must outlive the replica;
  /// `layout` and `grid` are copied.
  Replica(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context);

  kernels::Device& device() { return device_; }

  /// The derived class owns what split() and timed() return, and uses it as long as it lives.
  std::unique_ptr<comm::Communicator> split(comm::World& world, GroupKind kind);
  /// Wraps `group`, to time its collectives for report().
  std::unique_ptr<comm::Communicator> timed(std::unique_ptr<comm::Communicator> group);
  using GroupPtr = std::unique_ptr<comm::Communicator>;
  static comm::Communicator* lent(GroupKind kind, const GroupPtr& tensor, const GroupPtr& data) {
    return kind == GroupKind::tensor ? tensor.get() : kind == GroupKind::data ? data.get() : nullptr;
  }

  Layout layout_;
  double deadline_s_;
  /// How long a group waits for its ranks: one of them may be failing over.
  double group_deadline_s_;
  std::unique_ptr<comm::ControlGroup> control_;
  ProcessGrid grid_;
  GridCoordinates coordinates_;
  StreamPhase update_phase_;

 private:
  comm::World& world_;
  kernels::Device& device_;
  std::unique_ptr<comm::ControlGroup> rings_decision_;  // from the first call of order_rings on
  std::vector<comm::TimedCommunicator*> timed_;
};

}  // namespace tenax::parallel
