// LoopCheckpoints: the checkpoints that a training loop writes: when they are due, and what is
// recorded of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "app/console.hpp"
#include "app/training/profile.hpp"
#include "app/training/run_records.hpp"
#include "io/deck/deck.hpp"
#include "resilience/checkpoint/checkpoint_manager.hpp"

namespace tenax::app {

/// All that a LoopCheckpoints is made of outlives it. `manager` is null where there is nothing to
/// save: then calls do nothing.
class LoopCheckpoints {
 public:
  LoopCheckpoints(const io::Deck& deck, resilience::CheckpointManager* manager, RunRecords& records,
                  Console& console, StepProfile& profile);
  /// Told of a save. `is_final`: no other one follows.
  using Told = std::function<void(const resilience::SaveReport& report, bool is_final)>;
  /// Tells `told` of every save, on each rank.
  void tell(Told told) { told_ = std::move(told); }
  /// Calls `waiting` every second while training waits for a save.
  void on_wait(std::function<void()> waiting) { waiting_ = std::move(waiting); }

  /// By this rank's clock. Rank 0's decides for all.
  bool time_has_come() const;
  /// By the number of steps done.
  bool is_due(std::int64_t steps_done) const;

  /// Collective over `control`. `next_sample` as CheckpointManager has it. Takes a snapshot, which is written while training
  /// goes on; where a host has no memory for that, writes the state itself.
  void start(comm::ControlGroup& control, std::int64_t steps_done,
             std::optional<std::int64_t> next_sample = {});
  /// Collective over `control`: nothing is being written any more. Throws comm::AgreedError where
  /// what is being written does not get on.
  void settle(comm::ControlGroup& control);
  /// Collective. Waits for what is being written, then saves the state after the last step, if the
  /// deck wants checkpoints. Throws comm::AgreedError where that cannot be written. Returns whether
  /// it was saved.
  bool finish(std::int64_t steps_done, std::optional<std::int64_t> next_sample = {});
  /// Records what has been written since the last call. `goes_on`: training does, and a failure is
  /// only warned of.
  void record(bool goes_on);

  /// What the last one took, from its snapshot on; 0 before the first.
  double last_write_s() const { return last_write_s_; }
  /// When the snapshot was complete that is still being written, steady clock.
  std::optional<double> writing_since_s() const { return writing_since_s_; }

 private:
  void record(const resilience::SaveReport& report, bool goes_on, bool is_final = false);
  bool takes_copies(comm::ControlGroup& control);
  double patience_s() const;  // with a save under way that does not get on

  const io::Deck& deck_;
  resilience::CheckpointManager* manager_;
  RunRecords& records_;
  Console& console_;
  StepProfile& profile_;
  Told told_;
  std::function<void()> waiting_ = [] {};
  double last_write_s_ = 0;
  std::int64_t saved_steps_ = -1;  // of the last checkpoint that was written
  std::optional<bool> takes_copies_;
  double last_s_ = kernels::steady_now_s();
  std::optional<double> writing_since_s_;
};

}  // namespace tenax::app
