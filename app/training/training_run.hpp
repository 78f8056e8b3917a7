// TrainingRun: a run from its deck to its end: put together of its state, machine and data; then
// TrainingLoop trains.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/build.hpp"
#include "app/stop_signals.hpp"
#include "app/training/replica_link.hpp"
#include "app/training/run_machine.hpp"
#include "app/training/run_rank.hpp"
#include "app/training/run_state.hpp"
#include "app/training/training_loop.hpp"

namespace tenax::app {

/// One rank's view. Everything that can be wrong is found before the run directory is touched.
/// Every call is collective; what one rank cannot do, all throw as comm::AgreedError.
class TrainingRun {
 public:
  /// What is left to say or do after the ranks have parted; empty on all but rank 0.
  using Epilogue = std::function<void()>;

  /// `world` and `signals` must outlive the run.
  TrainingRun(comm::World& world, StopSignals& signals, const Build& build);

  /// Rank 0 reads and checks, then broadcasts.
  void read_deck(const std::string& file, const std::vector<std::string>& overrides);
  /// In a replica, or a warm spare, under a supervisor: RunRank::join.
  void join(const std::string& join_file);
  /// `told`: of the join file by which a warm spare takes a replica's place.
  void on_place(std::function<void(const std::filesystem::path& join_file)> told) {
    on_place_ = std::move(told);
  }
  /// Of one of the two runs of tenax replay: what is held in each step is written into `folder`.
  void record_into(std::filesystem::path folder) { replay_folder_ = std::move(folder); }
  /// Trains to the end, a signal, the time limit or what calls for a restart elsewhere.
  Epilogue train();
  /// After an error which train() threw: gives a run that has begun its last event, unless it has one. Not collective.
  void record_failure(const std::string& message) const;
  /// The exit status of what train() did.
  int status() const { return status_; }

 private:
  /// What replicas read of each other's state; empty on the emulated device.
  struct ExchangedState {
    resilience::StateAccess access;
    std::vector<std::shared_ptr<const comm::SharedMemory>> gradients;
  };
  Epilogue train_replica();
  Epilogue train_emulated(RunState& state, RunMachine& machine, const parallel::Layout& layout,
                          const parallel::PipelineContext& context);
  Epilogue train_model(RunState& state, RunMachine& machine, const parallel::Layout& layout,
                       const parallel::PipelineContext& context);
  TrainingParts parts_of(parallel::Replica& replica, const parallel::PipelineContext& context,
                         RunState& state, RunMachine& machine);
  Epilogue run_replica(TrainingParts parts, RunMachine& machine, const parallel::PipelineContext& context,
                       RunState& state, const ExchangedState& exchanged);
  std::string earlier_algorithms(bool is_resumed) const;
  void keep_algorithms(const RunMachine& machine) const;
  void take_place(resilience::ReplicaId id, RunState& state, const TrainingParts& parts);
  Epilogue run_loop(TrainingParts parts, const parallel::PipelineContext& context, std::int64_t first_step);
  /// How ranks reach each other when they change places.
  resilience::MoveRoads roads(RunMachine& machine) const;
  std::string run(TrainingLoop& loop);
  Epilogue already_finished(std::int64_t steps) const;
  Epilogue closing(std::int64_t steps, const std::string& reason) const;

  int status_ = 0;
  std::optional<std::int64_t>
      unended_steps_;  // steps done, while the run has begun and its last event is to come
  std::function<void(const std::filesystem::path&)> on_place_;
  std::filesystem::path replay_folder_;  // empty: this is no replay
  const double started_s_ = kernels::steady_now_s();
  StopSignals& signals_;
  Build build_;
  RunRank rank_;
};

}  // namespace tenax::app
