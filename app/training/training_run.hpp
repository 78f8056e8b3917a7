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
#include "app/training/loop_runner.hpp"
#include "app/training/run_machine.hpp"
#include "app/training/run_rank.hpp"
#include "app/training/run_state.hpp"

namespace tenax::app {

/// One rank's view. Everything that can be wrong is found before the run directory is touched.
/// Every call is collective; what one rank cannot do, all throw as comm::AgreedError.
class TrainingRun {
 public:
  /// `world` and `signals` must outlive the run.
  TrainingRun(comm::World& world, StopSignals& signals, const Build& build);

  /// Rank 0 reads and checks, then broadcasts.
  void read_deck(const std::string& file, const std::vector<std::string>& overrides);
  /// In a replica, or a warm spare, under a supervisor: RunRank::join.
  void join(const std::string& join_file);
  /// What it has joined by, now; null before.
  const JoinFile* seat() const { return rank_.seat(); }
  /// `told`: of the join file by which a warm spare takes a replica's place.
  void on_place(std::function<void(const std::filesystem::path& join_file)> told) {
    on_place_ = std::move(told);
  }
  /// Of one of the two runs of tenax replay: what is held in each step is written into `folder`.
  void record_into(std::filesystem::path folder) { replay_folder_ = std::move(folder); }
  /// Trains to the end, a signal, the time limit or what calls for a restart elsewhere.
  Epilogue train();
  /// After an error which train() threw: gives a run that has begun its last event, unless it has one. Not collective.
  void record_failure(const std::string& message) const { loop_.record_failure(message); }
  /// The exit status of what train() did.
  int status() const { return loop_.status(); }

 private:
  Epilogue train_replica();
  Epilogue train_emulated(RunState& state, RunMachine& machine, const parallel::Layout& layout,
                          const parallel::PipelineContext& context);
  Epilogue train_model(RunState& state, RunMachine& machine, const parallel::Layout& layout,
                       const parallel::PipelineContext& context);
  parallel::Layout plan(RunMachine& machine);
  std::string earlier_algorithms(bool is_resumed) const;
  void keep_algorithms(const RunMachine& machine) const;
  /// How ranks reach each other when they change places.
  resilience::MoveRoads roads(RunMachine& machine) const;
  Epilogue already_finished(std::int64_t steps) const;

  std::function<void(const std::filesystem::path&)> on_place_;
  std::filesystem::path replay_folder_;  // empty: this is no replay
  StopSignals& signals_;
  Build build_;
  RunRank rank_;
  LoopRunner loop_;
};

}  // namespace tenax::app
