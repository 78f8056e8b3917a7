// BOCD as published: no spikes, no verification.
#include <cmath>

#include "resilience/detection/change.hpp"
#include "resilience/detection/run_posterior.hpp"

namespace tenax::resilience {
namespace {

class RawDetector final : public ChangeDetector {
 public:
  explicit RawDetector(const DetectionOptions& options)
      : posterior_({.hazard = options.hazard, .spike_share = 0}) {}

  std::optional<Change> add(std::int64_t iteration, double seconds) override {
    const std::optional<LevelRun> last = run_;
    posterior_.add(iteration, std::log(seconds));
    run_ = posterior_.in_force();
    if (values_ < kFirstTold) ++values_;
    if (values_ < kFirstTold || !last || last->begin() == run_->begin()) return {};
    return Change{.iteration = run_->begin(),
                  .detected_at = iteration,
                  .before_s = std::exp(last->level()),
                  .after_s = std::exp(run_->level()),
                  .probability = posterior_.since(run_->begin())};
  }

  void begin_level(ExpectedLevel) override {
    posterior_.clear();
    run_.reset();
  }

 private:
  RunPosterior posterior_;
  std::optional<LevelRun> run_;  // in force
  int values_ = 0;               // as far as they matter
};

}  // namespace

std::unique_ptr<ChangeDetector> make_raw_detector(const DetectionOptions& options) {
  return std::make_unique<RawDetector>(options);
}

}  // namespace tenax::resilience
