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

/// The least change of iterations that is told where ranks share cores, as a share of the level before. Alone on two
/// cores, four ranks' levels have been seen to move by a third within a minute.
inline constexpr double kCrowdedChange = 0.5;

/// Rank 0's; elsewhere it would see what rank 0 sees. One thread.
class IterationWatch {
 public:
  struct Voice {
    Console& console;  ///< must outlive it
    bool is_crowded =
        false;  ///< ranks share cores: less than kCrowdedChange is not told, the console hears nothing
  };
  IterationWatch(const io::DetectSection& section, WriteEvent write, const Voice& voice);

  /// The step that ends now. `own_action`: it ran under another schedule, path or placement than the
  /// one before, so a new level begins. What it tells is written, too.
  std::optional<resilience::Change> add(const io::TrainingMetrics& step,
                                        std::optional<resilience::ExpectedLevel> own_action);
  /// The last iterations are as fast as any.
  bool is_healthy() const { return tracker_ && tracker_->is_healthy(); }
  /// Its own time, of all steps.
  double seconds() const { return seconds_; }

 private:
  void tell(const resilience::Change& change);

  WriteEvent write_;
  Voice voice_;
  std::optional<resilience::IterationTracker> tracker_;  // none where the deck wants none
  double seconds_ = 0;
};

}  // namespace tenax::app
