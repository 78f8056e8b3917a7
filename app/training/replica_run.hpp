// ReplicaRun: one replica of a run under a supervisor: built, checked in with the service, then trained by TrainingLoop.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "app/build.hpp"
#include "app/training/loop_runner.hpp"
#include "comm/transport/shared_memory.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "resilience/replicas/replica_session.hpp"

namespace tenax::app {

/// All calls are collective. What it is given outlives it.
class ReplicaRun {
 public:
  /// `state`: RunState::of_replica(). `context`: of `machine`. `on_place`: told of the join file by which a warm spare
  /// takes a replica's place; may be empty.
  ReplicaRun(RunRank& rank, const Build& build, StopSignals& signals, LoopRunner& loop, RunState& state,
             RunMachine& machine, const parallel::PipelineContext& context,
             std::function<void(const std::filesystem::path& join_file)> on_place);

  /// Trains a GPT model to its end. All that takes time is done before the service is told that the replica is there.
  Epilogue train_model(const parallel::Layout& layout);
  /// The same of an emulated device, which has no state and no data.
  Epilogue train_emulated(const parallel::Layout& layout);

 private:
  /// What replicas read of each other's state; empty on the emulated device.
  struct ExchangedState {
    resilience::StateAccess access;
    std::vector<std::shared_ptr<const comm::SharedMemory>> gradients;
  };
  resilience::StateAccess access_to(parallel::GptReplica& replica, const resilience::StateSlices& slices,
                                    resilience::CheckpointManager& checkpoints) const;
  /// `data`: the checksum of what it trains on; empty: of nothing.
  Epilogue train(TrainingParts parts, const ExchangedState& exchanged, const std::string& data);
  resilience::ReplicaSession::Options session_options(const ExchangedState& exchanged) const;
  void take_place(resilience::ReplicaId id, const TrainingParts& parts);
  void record_start();

  RunRank& rank_;
  const Build& build_;
  StopSignals& signals_;
  LoopRunner& loop_;
  RunState& state_;
  RunMachine& machine_;
  const parallel::PipelineContext& context_;
  std::function<void(const std::filesystem::path&)> on_place_;
};

}  // namespace tenax::app
