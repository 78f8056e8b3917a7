// Replica: this rank's part of a training replica: its groups, its pipeline stage, its state, and
// the parts of a step. GptReplica trains; EmulatedReplica takes the time that training would.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/timed_communicator.hpp"
#include "comm/world.hpp"
#include "kernels/update_coefficients.hpp"
#include "parallel/execution/step_observer.hpp"
#include "parallel/layout/batch_plan.hpp"
#include "parallel/layout/process_grid.hpp"
#include "parallel/replica/layout.hpp"
#include "parallel/replica/pipeline_runner.hpp"

namespace tenax::parallel {

/// This rank's share of the sums that all ranks must know before an update.
struct StepSums {
  double loss = 0;     ///< summed over tokens, nats; NaN where there is no data
  double squares = 0;  ///< summed over the gradient's elements that this rank counts; likewise
};

/// A training step is, in this order: passes, reduce, sum_tied, norm, a vote of all ranks on it,
/// update, gather. A replica of one rank, which needs no vote, has its device do all of that within
/// passes() (unless loss or norm are not finite, when it does not update), and the later calls have
/// nothing left to do.
class Replica {
 public:
  virtual ~Replica() = default;
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const Layout& layout() const { return layout_; }
  const ProcessGrid& grid() const { return grid_; }
  const GridCoordinates& coordinates() const { return coordinates_; }
  comm::ControlGroup& control() { return *control_; }
  virtual PipelineRunner& pipeline() = 0;
  virtual bool reads_tokens() const = 0;
  /// The tokens of a step's global batch.
  double global_tokens() const;

  /// The pipeline's passes over `windows` ([microbatches, sequences, T + 1] tokens; may be empty
  /// where reads_tokens() is false), which begin the data-parallel sums as they go. `observer` may
  /// be null. `rule`: of the update() to follow.
  virtual void passes(std::span<const std::int32_t> windows, const kernels::UpdateRule& rule,
                      ScheduleObserver* observer) = 0;
  /// Waits for the data-parallel sums: each rank's owned gradients are sums over the replica's
  /// batch.
  virtual void reduce() = 0;
  /// The tied embedding's gradient over first and last stage.
  virtual void sum_tied() = 0;
  /// This rank's part of the loss and the norm. Waits for both.
  virtual StepSums norm() = 0;
  /// Updates the owned shards by the rule of passes(); `squares`: the global sum. All votes said
  /// that all is finite.
  virtual void update(double squares) = 0;
  /// The updated shards to every data rank.
  virtual void gather() = 0;
  /// The sum of losses over the global batch of a forward pass alone. Equal on every rank.
  virtual double evaluate(std::span<const std::int32_t> windows) = 0;

  /// Tells `observer`, which may be null, of each collective and update that has ended since the
  /// last call. `all`: waits for those under way; else a later call tells of them.
  void report(StepObserver* observer, bool all);

 protected:
  /// Collective. What `context` refers to must outlive the replica; `layout` and `batch` are
  /// copied.
  Replica(const Layout& layout, const BatchPlan& batch, const PipelineContext& context);

  virtual kernels::Stream& stream() = 0;  ///< passes and updates run on it
  /// The derived class owns what split() and timed() return, and uses it as long as it lives.
  std::unique_ptr<comm::Communicator> split(comm::World& world, GroupKind kind);
  /// Wraps `group`, to time its collectives for report().
  std::unique_ptr<comm::Communicator> timed(std::unique_ptr<comm::Communicator> group);

  Layout layout_;
  BatchPlan batch_;
  double deadline_s_;
  /// How long a group waits for its ranks: one of them may be failing over.
  double group_deadline_s_;
  std::unique_ptr<comm::ControlGroup> control_;
  ProcessGrid grid_;
  GridCoordinates coordinates_;
  StreamPhase update_phase_;

 private:
  kernels::Device& device_;
  std::vector<comm::TimedCommunicator*> timed_;
};

}  // namespace tenax::parallel
