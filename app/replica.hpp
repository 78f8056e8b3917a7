// Replica: this rank's part of a training replica: its groups, its stage of the model, its state, and one step.
#pragma once

#include <memory>
#include <span>

#include "app/layout.hpp"
#include "comm/world.hpp"
#include "io/deck.hpp"
#include "model/gpt_stage.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/process_grid.hpp"
#include "parallel/schedule_executor.hpp"
#include "parallel/training_state.hpp"

namespace tenax::app {

/// What a rank would like to happen at a step's end; in a vote: what some rank would like.
struct Wishes {
  bool signal = false;      ///< asked to stop by a signal
  bool time_limit = false;  ///< the run's time is up
  bool failure = false;     ///< cannot go on
};

/// What all ranks agree on at a step's end. Equal on every rank.
struct Vote {
  double loss = 0;       ///< mean cross entropy over the global batch, nats
  double grad_norm = 0;  ///< global, before clipping
  bool finite = true;    ///< false: nobody updates
  Wishes wishes;
};

class Replica {
 public:
  /// Collective. `world` and `device` must outlive the replica; `layout` is copied.
  Replica(const io::Deck& deck, const Layout& layout, comm::World& world, kernels::Device& device);

  const Layout& layout() const { return layout_; }
  const parallel::GridCoordinates& coordinates() const { return coordinates_; }
  parallel::TrainingState& state() { return *state_; }
  comm::ControlGroup& control() { return *control_; }
  bool reads_tokens() const { return span_.has_embedding || span_.has_head; }

  /// The pipeline's passes over `windows` ([microbatches, sequences, T + 1] tokens; may be empty where reads_tokens()
  /// is false), then the data-parallel sum of the gradients. Afterwards each rank's owned gradients are sums over the
  /// global batch.
  void compute_gradients(std::span<const std::int32_t> windows, parallel::ScheduleObserver* observer);
  /// Loss, norm and wishes of all ranks.
  Vote vote(const Wishes& wishes);
  /// AdamW for update number `update` (from 1), with clipping to `clip_grad` (0 = off).
  void update(const io::OptimizerSection& optimizer, double learning_rate, std::int64_t update,
              double grad_norm);
  /// The sum of losses over the global batch of a forward pass alone. Equal on every rank.
  double evaluate(std::span<const std::int32_t> windows);

 private:
  double local_loss();

  Layout layout_;
  kernels::Device& device_;
  double deadline_s_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::ControlGroup> control_;
  parallel::ProcessGrid grid_;
  parallel::GridCoordinates coordinates_;
  model::StageSpan span_;
  std::unique_ptr<comm::Communicator> tensor_group_, data_group_, embedding_group_;
  std::unique_ptr<comm::Endpoint> pipeline_;
  std::unique_ptr<model::GptStage> stage_;
  std::unique_ptr<parallel::TrainingState> state_;
  std::unique_ptr<parallel::GradientReducer> reducer_;
  std::unique_ptr<parallel::ScheduleExecutor> training_, evaluation_;
};

}  // namespace tenax::app
