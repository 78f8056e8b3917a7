// LoopRunner: the part that every kind of run has in common: TrainingLoop's parts, its course and its end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/stop_signals.hpp"
#include "app/training/run_machine.hpp"
#include "app/training/run_rank.hpp"
#include "app/training/run_state.hpp"
#include "app/training/training_loop.hpp"
#include "io/json.hpp"
#include "parallel/replica/emulated_replica.hpp"

namespace tenax::app {

/// What is left to say or do after the ranks have parted; empty on all but rank 0.
using Epilogue = std::function<void()>;

/// What the emulated device takes instead of computing, in whichever kind of run.
parallel::EmulatedReplica::Options emulated_replica_options(const io::Deck& deck);

/// Collective, but for record_failure(). `rank` and `signals` outlive it.
class LoopRunner {
 public:
  LoopRunner(RunRank& rank, StopSignals& signals) : rank_(rank), signals_(signals) {}

  /// What a loop over `replica` needs in every run: no data, peers, checkpoints or swap. What is given outlives them.
  TrainingParts parts(parallel::Replica& replica, const parallel::PipelineContext& context, RunState& state,
                      RunMachine& machine) const;
  /// The run has done `steps` and owes a last event from now on.
  void begin(std::int64_t steps) { unended_steps_ = steps; }
  /// Trains to the end, a signal, the time limit or what calls for a restart elsewhere, and writes the last event.
  Epilogue run(TrainingParts parts, const parallel::PipelineContext& context, std::int64_t first_step);
  /// After an error: gives a run that has begun its last event, unless it has one.
  void record_failure(const std::string& message) const;
  /// The exit status of what run() did.
  int status() const { return status_; }

 private:
  std::string run(TrainingLoop& loop);
  void record_end(const TrainingLoop& loop, const std::string& reason);
  Epilogue closing(std::int64_t steps, const std::string& reason) const;

  RunRank& rank_;
  StopSignals& signals_;
  const double started_s_ = kernels::steady_now_s();
  int status_ = 0;
  std::optional<std::int64_t> unended_steps_;  // steps done, while the last event is to come
  io::JsonObject figures_;                     // of the loop that has failed, for that event
};

}  // namespace tenax::app
