// TrainingParts: what a training loop works with, and where it stands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "app/console.hpp"
#include "app/stop_signals.hpp"
#include "app/training/fail_slow_watch.hpp"
#include "app/training/grid_swap.hpp"
#include "app/training/path_news.hpp"
#include "app/training/peer_state.hpp"
#include "app/training/training_data.hpp"
#include "io/run/run_lock.hpp"
#include "parallel/replica/replica.hpp"
#include "resilience/adaptation/pipeline_adaptation.hpp"
#include "resilience/checkpoint/checkpoint_manager.hpp"
#include "resilience/faults/compute_faults.hpp"
#include "resilience/faults/fault_injector.hpp"
#include "resilience/replicas/replica_session.hpp"

namespace tenax::app {

/// The state that training goes on from.
struct RestoredState {
  std::int64_t steps = 0, next_sample = 0;
};

/// What the loop works with, all of which outlives it.
struct TrainingParts {
  const io::Deck& deck;
  parallel::Replica& replica;
  const parallel::PipelineContext& context;     ///< of `replica`
  resilience::ReplicaSession* peers = nullptr;  ///< the other replicas; null where there are none
  PeerState* peer_state = nullptr;              ///< with peers: null where there is no data
  std::function<RestoredState()> restore = {};  ///< collective, with peers: loads the newest checkpoint
  /// With peers: a checkpoint that no supervisor is there to accept gets its place, and rank 0's `unrecorded` commits theirs.
  std::function<void(std::int64_t steps, const std::vector<resilience::CommitRecord>& unrecorded)>
      place_checkpoint = {};
  /// With peers: is given rank 0's `unrecorded` commits before a checkpoint of their steps is written; may be empty.
  std::function<void(const std::vector<resilience::CommitRecord>& unrecorded)> keep_commits = {};
  resilience::DeviceProbe* probe = nullptr;  ///< null where fail-slow is not looked for
  GridSwap* swap = nullptr;                  ///< null where ranks keep their places
  BatchLoader* training = nullptr;           ///< null where there is no data
  BatchLoader* validation = nullptr;
  resilience::PipelineAdaptation* adaptation = nullptr;  ///< null where the pipeline never changes
  resilience::CheckpointManager* checkpoints = nullptr;  ///< null where there is nothing to save
  resilience::FaultInjector* injector = nullptr;         ///< null where the deck injects no faults
  resilience::ComputeFaults* compute_faults = nullptr;   ///< null where this rank's device has none
  resilience::StepPoints* points = nullptr;      ///< without peers: is told of each update; may be null
  std::int64_t sample_offset = 0;                ///< RunState::sample_offset()
  io::RunLock* lock = nullptr;                   ///< rank 0's, null elsewhere
  std::filesystem::path records_directory = {};  ///< with peers: where this replica writes
  RankPlace place;
  kernels::Device& device;
  PathNews& path_news;
  StopSignals& signals;
  Console& console;
  double machine_flop_per_second;  ///< matrix products on all ranks together: measured, or the highest seen
  double started_s;                ///< when the process started, steady clock
  bool judges_times;  ///< false: who is slow today is the operating system's choice, and not said to the user
};

/// Between two steps.
struct TrainingPosition {
  std::int64_t step = 0;                         ///< the next one, and how many are done
  std::optional<std::int64_t> next_sample = {};  ///< LoopPeers::next_sample() after them
};

}  // namespace tenax::app
