// IterationWatch: tells a run when its iterations have become slower, or fast again.
#pragma once

#include <optional>

#include "app/console.hpp"
#include "app/training/run_records.hpp"
#include "io/deck/deck.hpp"
#include "io/run/run_files.hpp"
#include "resilience/detection/iteration_tracker.hpp"

namespace tenax::app {

/// Rank 0's; elsewhere it would see what rank 0 sees. One thread.
class IterationWatch {
 public:
  /// Both must outlive it. `says_so`: on the console too.
  IterationWatch(const io::DetectSection& section, RunRecords& records, Console& console, bool says_so);

  /// The step that ends now. Where it ran under another schedule or path than the one before, a new
  /// level begins.
  void add(const io::TrainingMetrics& step, bool is_changed);
  /// Its own time, of all steps.
  double seconds() const { return seconds_; }

 private:
  void tell(const resilience::Change& change);

  RunRecords& records_;
  Console& console_;
  const bool says_so_;
  std::optional<resilience::IterationTracker> tracker_;  // none where the deck wants none
  double seconds_ = 0;
};

}  // namespace tenax::app
