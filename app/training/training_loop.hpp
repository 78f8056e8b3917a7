// TrainingLoop: the steps of a run and their records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/console.hpp"
#include "app/stop_signals.hpp"
#include "app/training/fail_slow_watch.hpp"
#include "app/training/grid_swap.hpp"
#include "app/training/loop_checkpoints.hpp"
#include "app/training/loop_peers.hpp"
#include "app/training/loop_records.hpp"
#include "app/training/loop_validation.hpp"
#include "app/training/mitigator.hpp"
#include "app/training/path_news.hpp"
#include "app/training/step_batches.hpp"
#include "app/training/step_observation.hpp"
#include "app/training/step_vote.hpp"
#include "app/training/training_data.hpp"
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

/// Collective: passes and sums of a step over the first samples, without an update, so that what
/// only the first step does is done (ft-hsdp, section 5). Of a replica whose rank is never alone.
void rehearse(const TrainingParts& parts);

class TrainingLoop {
 public:
  /// Collective, as all calls. `first_step`: steps done before.
  TrainingLoop(TrainingParts parts, std::int64_t first_step);
  /// Runs to the end, or until a signal, the time limit or restart_without(). Throws what ends the
  /// run. Returns the reason of the end.
  std::string run();
  std::int64_t steps_done() const { return step_; }
  /// Between steps, where the parts have a swap: GridSwap::run, after the checkpoint that is being
  /// saved. References to the parts' replica and adaptation stay valid.
  GridSwap::Outcome regrid(const std::vector<int>& rank_of_position);
  /// What detection took, as a share of the iterations' time: told in the event of the end.
  double tracking_share() const {
    return records_.iterations_s() > 0 ? watch_.seconds() / records_.iterations_s() : 0;
  }
  /// Rank 0's, for the same event: what iterations took too long while something was slow, and what
  /// was done against it took.
  double lost_s() const { return mitigator_.lost_s(); }
  double mitigation_s() const { return mitigator_.seconds(); }
  /// Not collective, on rank 0, between two votes: the run is to end after the next step with reason
  /// "restart", to be started again without `hosts`, which exclude_hosts.txt will name.
  void restart_without(std::vector<std::string> hosts) { excluded_hosts_ = std::move(hosts); }
  /// Not collective, after run() has thrown: the adaptations whose outcome nobody waits
  /// for any more.
  void log_open_adaptations();

 private:
  Verdict step();
  bool begin();
  // The parts of a step, in the order in which step() calls them.
  void compute(const StepRound& round, const kernels::UpdateRule& rule);
  void sum_over_replicas();
  parallel::StepSums norm();
  StepVote vote(const parallel::StepSums& sums);
  void update(const StepVote& vote, const kernels::UpdateRule& rule);
  bool adapt(const StepVote& vote);
  void record(const StepVote& vote, const io::TrainingMetrics& times, FailSlowWatch::Step watched);
  void validate();
  void checkpoint(const StepVote& vote);
  void trace();

  std::function<GridSwap::Outcome(const std::vector<int>&)> regridder();
  void follow(const resilience::MemberPlan& plan);
  double learning_rate() const;
  parallel::StepBatch batch(parallel::SampleRange samples);
  void compute_again(parallel::SampleRange samples);
  void passes(const parallel::StepBatch& batch, const kernels::UpdateRule& rule);
  bool has_steps_left() const { return step_ < parts_.deck.run.train_steps; }
  void write_trace();
  void exclude_hosts();
  bool time_is_up() const;

  TrainingParts parts_;
  std::int64_t step_;
  LoopPeers peers_;
  std::optional<std::int64_t> next_sample_;  // LoopPeers::next_sample() after step_ steps
  LoopRecords records_;
  StepObservation observation_;
  LoopCheckpoints checkpoints_;
  std::string end_reason_ = "completed";
  std::vector<std::string> excluded_hosts_;  // rank 0's; not empty: the run ends to be started without them
  StepBatches batches_;
  LoopValidation validation_;
  FailSlowWatch watch_;
  Mitigator mitigator_;
};

}  // namespace tenax::app
