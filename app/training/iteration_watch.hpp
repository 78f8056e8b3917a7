// IterationWatch: tells a run when its iterations have become slower, or fast again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/console.hpp"
#include "io/deck/deck.hpp"
#include "io/json.hpp"
#include "io/run/run_files.hpp"
#include "resilience/detection/iteration_tracker.hpp"

namespace tenax::app {

/// Writes an event of a run.
using WriteEvent =
    std::function<void(std::int64_t step, const std::string& name, const io::JsonObject& details)>;

/// Rank 0's; elsewhere it would see what rank 0 sees. One thread.
class IterationWatch {
 public:
  /// `console` must outlive it. `says_so`: there too.
  IterationWatch(const io::DetectSection& section, WriteEvent write, Console& console, bool says_so);

  /// The step that ends now. `own_action`: it ran under another schedule, path or placement than the
  /// one before, so a new level begins. What it tells is written, too.
  std::optional<resilience::Change> add(const io::TrainingMetrics& step,
                                        std::optional<resilience::ExpectedLevel> own_action);
  /// Its own time, of all steps.
  double seconds() const { return seconds_; }

 private:
  void tell(const resilience::Change& change);

  WriteEvent write_;
  Console& console_;
  const bool says_so_;
  std::optional<resilience::IterationTracker> tracker_;  // none where the deck wants none
  double seconds_ = 0;
};

}  // namespace tenax::app
