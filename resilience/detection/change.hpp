// Change: the iteration time has moved to another level; and what finds such changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace tenax::resilience {

struct Change {
  std::int64_t iteration = 0;    ///< the first of the new level
  std::int64_t detected_at = 0;  ///< the iteration after whose value it was known
  double before_s = 0, after_s = 0;
  double probability = 0;  ///< that there was a change; 1 where a method tells none
  bool is_drift = false;   ///< many small changes: `before_s` is the healthy level, long before `iteration`

  double ratio() const { return after_s / before_s; }
  /// Slower than before; otherwise a relief.
  bool is_onset() const { return after_s > before_s; }
};

struct DetectionOptions {
  double min_change = 0.10;  ///< the least change that is told, as a share of the level before
  double hazard = 250;       ///< iterations between changes that are expected
  int warmup = 5;            ///< iterations after a start that say nothing
};

/// Nothing is told before so many values have come.
inline constexpr int kFirstTold = 16;

/// What an action of the training program is expected to make of iterations.
enum class ExpectedLevel {
  unknown,
  healthy,    ///< nothing is known to be slow any more
  other_work  ///< an iteration computes more or less than before: no earlier level says anything of it
};

/// Finds changes of level, online: seconds in, changes out. No clock. One thread.
class ChangeDetector {
 public:
  virtual ~ChangeDetector() = default;

  /// Takes an iteration that took `seconds` > 0. Iterations increase; gaps are allowed.
  virtual std::optional<Change> add(std::int64_t iteration, double seconds) = 0;
  /// The training program itself has changed what an iteration takes: the next one begins a level.
  virtual void begin_level(ExpectedLevel expected) = 0;
  /// The last iterations are as fast as any. False where a method does not know.
  virtual bool is_healthy() const { return false; }
};

/// A run-length posterior with spikes, and a verification of what it finds (RunLengthDetector).
std::unique_ptr<ChangeDetector> make_run_length_detector(const DetectionOptions& options);
/// The papers' baselines: a sliding window's median; the posterior without spikes and verification.
std::unique_ptr<ChangeDetector> make_window_detector(const DetectionOptions& options);
std::unique_ptr<ChangeDetector> make_raw_detector(const DetectionOptions& options);

}  // namespace tenax::resilience
