// Replica: this rank's part of a training replica: its groups, its pipeline stage, its state, and one step. GptReplica
// trains; EmulatedReplica takes the time that training would.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "app/layout.hpp"
#include "comm/timed_communicator.hpp"
#include "comm/world.hpp"
#include "io/deck.hpp"
#include "parallel/process_grid.hpp"
#include "parallel/stream_phase.hpp"
#include "resilience/adaptation_decision.hpp"
#include "resilience/link_samples.hpp"

namespace tenax::app {

class PipelineRunner;

/// What a rank would like to happen at a step's end; in a vote: what some rank would like.
struct Wishes {
  bool signal = false;      ///< asked to stop by a signal
  bool time_limit = false;  ///< the run's time is up
  bool failure = false;     ///< cannot go on
  bool checkpoint = false;  ///< a checkpoint is due
};

/// What all ranks agree on at a step's end. Equal on every rank.
struct Vote {
  double loss = 0;           ///< mean cross entropy over the global batch, nats; NaN where there is no data
  double grad_norm = 0;      ///< global, before clipping; NaN where there is no data
  double squares = 0;        ///< Σ g² that the norm is of: of the sums over the batch's tokens
  bool finite = true;        ///< false: nobody updates
  bool path_failed = false;  ///< some rank's direct path broke in this iteration
  bool is_void = false;      ///< and its passes are to run again: PipelineLinks::is_void
  bool has_events = false;   ///< some pipeline has adaptations to report
  Wishes wishes;
};

/// What an update is made by.
struct UpdateSettings {
  const io::OptimizerSection& optimizer;
  double learning_rate = 0;
  std::int64_t number = 1;  ///< from 1
};

class Replica {
 public:
  virtual ~Replica() = default;
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const Layout& layout() const { return layout_; }
  const parallel::GridCoordinates& coordinates() const { return coordinates_; }
  comm::ControlGroup& control() { return *control_; }
  virtual bool reads_tokens() const = 0;

  /// The pipeline's passes over `windows` ([microbatches, sequences, T + 1] tokens; may be empty where reads_tokens()
  /// is false), then the data-parallel sum of the gradients. Afterwards each rank's owned gradients are sums over the
  /// global batch. `observer` may be null; it is told by vote(). `settings`: of the update() that is to follow; a replica
  /// of one rank, which needs no vote, begins with it at once, unless loss or norm are not finite.
  virtual void compute_gradients(std::span<const std::int32_t> windows, const UpdateSettings& settings,
                                 parallel::ScheduleObserver* observer) = 0;
  /// This rank's row of the schedule that the next compute_gradients() runs.
  const std::vector<parallel::PipelineOp>& planned_row();
  /// Loss, norm and wishes of all ranks.
  Vote vote(const Wishes& wishes);
  /// AdamW, by the settings of compute_gradients(), after a vote that all is finite.
  virtual void update(const UpdateSettings& settings, const Vote& vote) = 0;
  /// Tells `observer`, which may be null, of the collectives and updates that have ended and nobody was told of. `all`: waits
  /// for those under way, else they are told of by a later call.
  void report(parallel::StepObserver* observer, bool all);
  /// What this rank's passes took in the last step that had an observer.
  const resilience::StageMeasurement& pass_times();
  /// The sum of losses over the global batch of a forward pass alone. Equal on every rank.
  virtual double evaluate(std::span<const std::int32_t> windows) = 0;
  /// At a training step's end: measures the pipelines and bends them. What was done, on rank 0 alone and as soon as it
  /// knows of it: with several pipelines that is a step later.
  std::vector<resilience::AdaptationEvent> adapt(std::int64_t step, const Vote& vote);
  /// After the last step: what adapt() has not yet given.
  std::vector<resilience::AdaptationEvent> last_adaptations();
  /// The same of this rank's own pipeline alone, without asking anybody: after a failure.
  std::vector<resilience::AdaptationEvent> own_last_adaptations();

 protected:
  /// Collective. `world` and `device` must outlive the replica; `layout` is copied.
  Replica(const io::Deck& deck, const Layout& layout, comm::World& world, kernels::Device& device);

  /// This rank's contributions to the sums of a vote.
  struct Sums {
    double loss = 0, squares = 0;
  };
  virtual Sums local_sums() = 0;
  virtual PipelineRunner& pipeline() = 0;
  virtual kernels::Stream& stream() = 0;  ///< of passes and updates
  /// The derived class owns what split() and timed() return, and uses it as long as it lives.
  std::unique_ptr<comm::Communicator> split(comm::World& world, parallel::GroupKind kind);
  /// `group`, with its collectives timed for report().
  std::unique_ptr<comm::Communicator> timed(std::unique_ptr<comm::Communicator> group);
  double global_tokens() const;

  Layout layout_;
  double deadline_s_;
  /// For how long a group waits for its ranks: one of them may be giving a direct path up.
  double group_deadline_s_;
  std::unique_ptr<comm::ControlGroup> control_;
  parallel::ProcessGrid grid_;
  parallel::GridCoordinates coordinates_;
  parallel::StreamPhase update_phase_;

 private:
  std::vector<resilience::AdaptationEvent> gather_adaptations(bool last);

  kernels::Device& device_;
  std::vector<comm::TimedCommunicator*> timed_;
};

}  // namespace tenax::app
