// TrainingLoop: the steps of a run and their records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/batch_loader.hpp"
#include "app/console.hpp"
#include "app/profile.hpp"
#include "app/replica.hpp"
#include "app/stop_signals.hpp"
#include "io/run_files.hpp"
#include "io/run_lock.hpp"
#include "io/tensorboard_writer.hpp"
#include "resilience/checkpoint_manager.hpp"
#include "resilience/fault_injector.hpp"

namespace tenax::app {

/// What the loop works with. References outlive it; loaders are absent on ranks that read no tokens.
struct TrainingParts {
  const io::Deck& deck;
  Replica& replica;
  std::optional<BatchLoader>& training;
  std::optional<BatchLoader>& validation;
  resilience::CheckpointManager* checkpoints;  ///< null where there is nothing to save
  resilience::FaultInjector* injector;         ///< null where the deck injects no faults
  io::RunLock* lock;                           ///< rank 0's, null elsewhere
  StopSignals& signals;
  Console& console;
  double
      machine_flop_per_second;  ///< matrix-product rate of all ranks together: measured, or the highest seen
  kernels::Deadline::Clock::time_point started;
  bool judges_times;  ///< false: who is slow today is the operating system's choice, and not said to the user
};

class TrainingLoop {
 public:
  /// Collective, as all calls. `first_step`: steps done before.
  TrainingLoop(TrainingParts parts, std::int64_t first_step);
  /// Runs to the end, or until a signal or the time limit. Throws what ends the run. Returns the reason of the end.
  std::string run();
  std::int64_t steps_done() const { return step_; }
  /// Not collective, after run() has thrown: the adaptations whose outcome nobody waits for any more.
  void log_open_adaptations() { log_adaptations(parts_.replica.own_last_adaptations()); }

 private:
  bool step();
  bool is_observed(std::int64_t step) const;
  bool is_profiled(std::int64_t step) const;
  Vote train_passes(std::span<const std::int32_t> windows, const UpdateSettings& settings);
  void write_profile();
  void record(const Vote& vote, double learning_rate, double seconds);
  void report(const io::TrainingMetrics& metrics);
  void evaluate();
  bool checkpoint_time_has_come();
  bool checkpoint_is_due() const;
  void checkpoint();
  void final_checkpoint();
  void log_saves();
  void log_save(const resilience::SaveReport& report);
  void log_adaptations(const std::vector<resilience::AdaptationEvent>& adaptations);
  void event(std::int64_t step, const std::string& name, const io::JsonObject& details);
  bool time_is_up() const;
  void restore_run_directory();
  void make_files_again();
  bool is_first_rank() { return parts_.replica.control().rank() == 0; }
  /// Runs rank 0's work on files. A failure is remembered and ends the run on all ranks at the next vote.
  void on_first_rank(const std::function<void()>& work);
  void agree_on_failures();

  TrainingParts parts_;
  const std::int64_t first_step_;
  std::int64_t step_;
  std::int64_t global_tokens_;  ///< of a step
  std::unique_ptr<io::MetricsWriter> metrics_;
  std::unique_ptr<io::TensorBoardWriter> tensorboard_;  // null where nobody wants it
  std::unique_ptr<io::EventsWriter> events_;
  StepProfile profile_;
  std::string end_reason_ = "completed";
  std::string failure_;  ///< rank 0: why its files cannot be written
  int skipped_in_a_row_ = 0;
  std::int64_t last_validated_ = -1, last_saved_ = -1;
  std::optional<double> writing_since_s_;  // a checkpoint in the background; steady clock
  kernels::Deadline::Clock::time_point last_checkpoint_ = kernels::Deadline::Clock::now();
  bool checkpoint_time_ = false;  ///< all ranks agree that it is time for a checkpoint
  double logged_seconds_ = 0;
  std::int64_t logged_steps_ = 0;
};

}  // namespace tenax::app
