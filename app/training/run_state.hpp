// RunState: where a run stands when it begins, and what it saves: its directories, its initial
// weights, its checkpoints.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/build.hpp"
#include "app/training/run_rank.hpp"
#include "app/training/run_start.hpp"
#include "app/training/training_data.hpp"
#include "app/training/training_parts.hpp"
#include "app/training/transport_text.hpp"
#include "io/run/run_lock.hpp"
#include "resilience/checkpoint/checkpoint_manager.hpp"

namespace tenax::parallel {
class GptReplica;
}

namespace tenax::app {

/// Every call is collective but the getters, and throws comm::AgreedError for what one
/// rank cannot do.
class RunState {
 public:
  /// Rank 0 locks the run's directories until this ends, and looks at what they hold; all do as it
  /// says. Touches nothing else, but for place_left_checkpoint(). Refuses to begin where an old run cannot be moved alone:
  /// io::check_old_run_moves_alone(). `rank` must outlive it.
  explicit RunState(RunRank& rank);
  /// Of a replica under a supervisor, which has locked and looked at the directories. Rank 0 locks
  /// the replica's own folder, and waits for an earlier incarnation that is still ending.
  static RunState of_replica(RunRank& rank);
  /// Of a supervisor that takes over living replicas: the run goes on as it is.
  static RunState of_successor(RunRank& rank);

  /// A signal came while it looked whether owners of left locks still live, or verified a checkpoint: nothing is to begin.
  bool is_stopped() const { return is_stopped_; }
  /// The directories hold a run that has done all its steps.
  bool is_finished() const { return start_.finished; }
  std::int64_t steps() const { return start_.steps; }  ///< done before
  /// What is to be added to the first sample of a step: steps before may have had another global batch, or less than
  /// it, as those of replicas with replicas.batch = "shrink".
  std::int64_t sample_offset() const;
  io::RunLock* lock() { return lock_ ? &*lock_ : nullptr; }

  /// Warns where the disk has too little room for the checkpoints. What killed runs left half
  /// written there takes none: it is removed first.
  void check_disk() const;
  /// Fills the replica's state: from the checkpoint that the run resumes from, else by the deck.
  /// Reads files, writes none. Compares the weights' tokenizer with that of `data`.
  void load(parallel::GptReplica& replica, TrainingData& data);
  /// Warns of settings that are others than those the checkpoint was trained with.
  void warn_of_changes() const;
  /// Likewise of data files that are not the checkpoint's. `data_checksum`: TrainingData's.
  void warn_of_files(const std::string& data_checksum) const;
  /// Makes the run directory this run's: moves an older run away, and the metrics of one whose
  /// checkpoints are gone, of which it warns; writes deck.toml and the first event. `transport`:
  /// what ranks connect over; nothing where they do not.
  void open_directory(const std::optional<TransportText>& transport = {});
  /// Without a supervisor: nobody records the steps from now on in the run's ledger, if it has one. Metrics get what replicas
  /// have left of the steps before.
  void leave_ledger() const;
  /// In a warm spare that has taken a replica's place: rank 0 locks that one's folder instead.
  void take_place();
  /// In a replica: fills its state with that of the newest checkpoint, or by the deck where there is
  /// none. Stores it.
  RestoredState restore(parallel::GptReplica& replica, TrainingData& data);
  /// In a replica that begins to write a checkpoint: keeps `unrecorded`, as far as its steps go, for the next supervisor. What
  /// rank 0 cannot write it warns of. Not collective.
  void keep_commits(const std::vector<resilience::CommitRecord>& unrecorded) const;
  /// In a replica without a supervisor: gives its checkpoint of `steps` steps its place, if its seat
  /// in the run is still its own, and keeps `unrecorded` for the next supervisor. Throws where the seat is gone.
  void place_checkpoint(std::int64_t steps, const std::vector<resilience::CommitRecord>& unrecorded) const;
  /// CheckpointOptions::fetch of its state, for as long as `replica` lives.
  std::function<void()> fetch_of(parallel::GptReplica& replica) const;
  /// `replica` must outlive the manager. `data`, `build`: for what checkpoints say of their origin.
  std::unique_ptr<resilience::CheckpointManager> create_checkpoints(parallel::GptReplica& replica,
                                                                    const TrainingData& data,
                                                                    const Build& build) const;

 private:
  enum class Owner { run, replica, successor };
  RunState(RunRank& rank, Owner owner);
  /// RunRank::on_first, which bears a file system that stands still.
  void on_first_patiently(const std::function<void()>& work) const;
  void lock_replica();
  void watch_left_locks();
  void look_for_start();
  void check_owner() const;
  void agree_on_stop();
  void place_left_checkpoint() const;
  bool has_seat() const;
  std::int64_t next_sample() const;  // the first that no step has had
  void initialise(parallel::GptReplica& replica, TrainingData& data);
  RunStart newest_start();
  std::optional<RunStart> start_if_any(const io::Deck& deck, std::int64_t after_step = -1) const;

  RunRank& rank_;
  std::unique_ptr<comm::ControlGroup> reading_;    // waits for files: restore_patience_s()
  std::optional<io::RunLock> lock_;                // rank 0's
  std::optional<io::DirectoryLock> replica_lock_;  // rank 0's of a replica
  RunStart start_;
  bool has_restored_ = false, is_stopped_ = false;
};

}  // namespace tenax::app
