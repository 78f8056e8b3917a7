// RunRecords: what a run writes about itself while it trains: metrics.jsonl, events.jsonl,
// TensorBoard's file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "app/console.hpp"
#include "comm/control_group.hpp"
#include "io/deck/deck.hpp"
#include "io/run/run_files.hpp"
#include "io/run/run_lock.hpp"
#include "io/run/tensorboard_writer.hpp"

namespace tenax::app {

/// Rank 0 writes; elsewhere the calls do nothing. A failure to write is remembered and nothing more
/// is written: all ranks learn of it by agree().
class RunRecords {
 public:
  /// Collective. `steps_done`: before the first record. `lock`: rank 0's, null elsewhere.
  /// References must outlive it.
  RunRecords(comm::ControlGroup& control, const io::Deck& deck, io::RunLock* lock, Console& console,
             std::int64_t steps_done);
  /// Collective: of a replica whose supervisor records the run. Events alone, in `directory`.
  RunRecords(comm::ControlGroup& control, const io::Deck& deck, const std::filesystem::path& directory,
             Console& console);

  void training(const io::TrainingMetrics& metrics);
  void validation(std::int64_t steps_done, double loss);
  void event(std::int64_t step, const std::string& name, const io::JsonObject& details);
  /// What was recorded outlives a crash of the host from now on.
  void sync();
  /// Who removes or moves the directory of a run that goes on gets a new one, with all that was
  /// recorded so far.
  void restore_directory(std::int64_t steps_done);

  bool has_failed() const { return !failure_.empty(); }
  /// Collective: throws on all ranks what failed on rank 0.
  void agree();

 private:
  void on_first_rank(const std::function<void()>& work);
  void make_files_again(std::int64_t steps_done);

  comm::ControlGroup& control_;
  const io::Deck& deck_;
  io::RunLock* lock_;
  Console& console_;
  std::unique_ptr<io::MetricsWriter> metrics_;  // null in a replica
  std::unique_ptr<io::EventsWriter> events_;
  std::unique_ptr<io::TensorBoardWriter> tensorboard_;  // null where nobody wants it
  std::string failure_;
};

}  // namespace tenax::app
