// CheckpointManager: saves checkpoints in the background while training goes on.
//
// Thread rule: used by the thread that trains. Between save_async() and the report of that save a
// background thread of its own uses the group; nobody else ever does. Every call but poll() is
// collective.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/control_group.hpp"
#include "kernels/deadline.hpp"
#include "kernels/host.hpp"
#include "resilience/checkpoint/checkpoint_save.hpp"

namespace tenax::resilience {

struct CheckpointOptions {
  std::filesystem::path directory;  ///< shared by all ranks; created if absent
  std::int64_t keep = 3;            ///< 0 = all
  io::ModelSizes model;
  /// Brings the state into the ranges, where they are a copy that nobody else writes; empty where
  /// they are the state.
  std::function<void()> fetch = {};
  io::CheckpointOrigin origin = {};    ///< the same for all checkpoints; rank 0's counts
  std::int64_t global_batch_size = 0;  ///< samples of a step, so that checkpoints can say which comes next
  int ranks_on_host = 1;
  std::function<std::size_t()> available_bytes = [] {
    return kernels::available_memory_bytes();
  };  ///< of this host
  /// How long a step of a save may wait for the other ranks once an error unwinds this one: they
  /// may be gone, and the user waits for the error. Long enough for a peer that writes its part to
  /// a slow disk.
  double unwinding_s = 20;
  double room_wait_s = 15;  ///< as SaveRequest has it
  /// Where other replicas write there too: a name for this one. Nobody's half written file is
  /// removed, and a complete one waits for place_checkpoint().
  std::string writer = {};
};

class CheckpointManager {
 public:
  /// `ranges`: this rank's training state; its memory must live as long as the manager. Creates the
  /// directory, and clears it of what killed runs left half written, unless it is shared. Throws kernels::Error(rank) on
  /// every rank if it cannot be written.
  CheckpointManager(CheckpointOptions options, std::unique_ptr<comm::ControlGroup> group,
                    std::vector<io::StateRange> ranges);
  /// Waits for a save under way; when an error unwinds the stack, for the other ranks no longer
  /// than options.unwinding_s.
  ~CheckpointManager();

  /// While no save is under way; not collective: from now on the state is in these ranges, `fetch`
  /// as CheckpointOptions and `rank_places` as CheckpointOrigin has it. Rank 0 stays the one that
  /// leads.
  void set_state(std::vector<io::StateRange> ranges, std::function<void()> fetch, std::string rank_places);

  /// Before any save; not collective: CheckpointOptions::writer.
  void set_writer(const std::string& writer) { options_.writer = writer; }
  /// Not collective: of the next checkpoints, as CheckpointOrigin has them. Rank 0's count.
  void set_tokenizer(const std::string& tokenizer, const std::string& vocabulary_checksum) {
    options_.origin.tokenizer = tokenizer;
    options_.origin.vocabulary_checksum = vocabulary_checksum;
  }

  /// Copies the state to host memory of its own (as large as the state, allocated by the first
  /// call) and returns; the rest happens in the background. `next_sample`: the first that no step has
  /// had; absent: that of steps of the global batch. Waits first for a previous save that is
  /// still under way. Where the system gives some rank no thread for it, the save is one that failed.
  void save_async(std::int64_t step, std::string deck, std::optional<std::int64_t> next_sample = {});

  /// As save_async() without a copy: the state must not change until no save is under way any more.
  void save_in_place(std::int64_t step, std::string deck, std::optional<std::int64_t> next_sample = {});

  /// Not collective: this host has memory for the copies of its ranks, or there are copies already. Where one has none, save_in_place()
  /// serves instead: the kernel promises more memory than there is, and ends the process that takes it.
  bool has_room_for_copy() const;

  /// When the last save_async() began to copy, after its wait for the save before; steady clock.
  double snapshot_begin_s() const { return snapshot_begin_s_; }

  /// Saves now, without a copy: for the last checkpoint of a run, when nothing is left to train
  /// meanwhile.
  SaveReport save(std::int64_t step, std::string deck, std::optional<std::int64_t> next_sample = {});

  /// A save reads the ranges, or what stands for them; not collective.
  bool is_saving() const;

  /// The next finished save that was not reported yet, if any; does not wait. A failed save is a
  /// report too. Throws where the group is broken, which ends the run. Ranks may learn of the same
  /// save at different calls.
  std::optional<SaveReport> poll();

  /// Waits for the save under way, at most for `seconds`; returns whether it goes on. Throws
  /// kernels::Error(rank) where it has not got on for `patience_s`, however long it takes in all.
  /// Reports are left to poll().
  bool wait_some(double seconds, double patience_s);
  /// The same, to its end. Calls `waiting` every second.
  void wait(
      double patience_s, const std::function<void()>& waiting = [] {});

  /// The ranges are about to get another state: a save under way that reads them, or what stands for them, comes to an early
  /// end, as one that failed where it is not through. Returns once nobody reads them, in seconds; throws and calls `waiting`
  /// as wait().
  void abandon(
      double patience_s, const std::function<void()>& waiting = [] {});

 private:
  SaveRequest request(std::int64_t step, std::string deck, std::optional<std::int64_t> next_sample) const;
  std::size_t copied_floats() const;
  void begin(SaveRequest job, const std::vector<io::StateRange>& ranges);
  void snapshot();
  void stage();
  void collect();  ///< moves the result of a finished save to reports_

  const int exceptions_ = std::uncaught_exceptions();
  CheckpointOptions options_;
  std::unique_ptr<comm::ControlGroup> group_;
  std::vector<io::StateRange> ranges_;
  std::unique_ptr<float[]> staging_;
  std::vector<io::StateRange> staged_;      ///< the primary ranges, in staging_
  std::atomic<double> progress_s_ = 0;      ///< when the save under way has last got on, steady clock
  std::atomic<bool> is_abandoned_ = false;  ///< the save under way
  std::future<SaveReport> running_;
  std::deque<SaveReport> reports_;
  double snapshot_begin_s_ = 0;
};

}  // namespace tenax::resilience
