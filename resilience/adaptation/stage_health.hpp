// StageHealth: which stages of a pipeline have become slower than they were.
#pragma once

#include <cstdint>
#include <vector>

#include "resilience/adaptation/adaptation_decision.hpp"
#include "resilience/adaptation/situation.hpp"

namespace tenax::resilience {

/// Pure. A stage is slow when it has become slower than it was, and more so than the others: a
/// machine that is slow as a whole needs no other schedule.
class StageHealth {
 public:
  StageHealth(int stages, int microbatches)
      : stages_(static_cast<std::size_t>(stages)), microbatches_(microbatches) {}

  /// After iteration `step`, which took `iteration_s`.
  void assess(std::int64_t step, double iteration_s, const PipelineForecast& forecast,
              const GainThreshold& threshold);

  /// An iteration has so many from now on.
  void set_microbatches(int microbatches) { microbatches_ = microbatches; }

  bool any_is_slow() const;
  /// Adds an event like `now` for each stage that has been slow for 8 iterations and is not
  /// reported yet. A stage is reported again only after it has been healthy for as long: what else
  /// a busy machine does comes and goes.
  void report(const AdaptationEvent& now, const PipelineForecast& forecast,
              std::vector<AdaptationEvent>& events);

 private:
  struct Stage {
    double normal_s = 0;  // the least F + B + W so far
    bool slow = false, reported = false;
    std::int64_t changed_at = 0;  // the step after which `slow` became what it is
  };
  static constexpr std::int64_t kLasting = 8;

  std::vector<Stage> stages_;
  int microbatches_;
};

}  // namespace tenax::resilience
