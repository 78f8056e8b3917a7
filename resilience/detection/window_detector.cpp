// The papers' sliding window.
#include <cmath>

#include "resilience/detection/change.hpp"
#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {
namespace {

constexpr std::size_t kWindow = 50;

class WindowDetector final : public ChangeDetector {
 public:
  explicit WindowDetector(const DetectionOptions& options) : threshold_(options.min_change) {}

  std::optional<Change> add(std::int64_t iteration, double seconds) override {
    const double x = std::log(seconds);
    const double off = !window_.is_empty() ? x - window_.median() : 0;
    const bool is_far = std::abs(std::expm1(off)) > threshold_;
    std::optional<Change> change;
    if (values_ < kFirstTold) ++values_;
    if (values_ >= kFirstTold && is_far && far_ && (off > 0) == (*far_off_ > 0)) {
      change = Change{.iteration = *far_,
                      .detected_at = iteration,
                      .before_s = std::exp(window_.median()),
                      .after_s = std::exp(x),
                      .probability = 1};
      begin_level(ExpectedLevel::unknown);
    } else if (is_far) {
      far_ = iteration;
      far_off_ = off;
    } else {
      far_.reset();
    }
    window_.add(x);
    return change;
  }

  void begin_level(ExpectedLevel) override {
    window_.clear();
    far_.reset();
  }

 private:
  double threshold_;  // a share of the median
  int values_ = 0;    // as far as they matter
  SlidingMedian window_{kWindow};
  std::optional<std::int64_t> far_;  // the last iteration, where it was far from the median
  std::optional<double> far_off_;
};

}  // namespace

std::unique_ptr<ChangeDetector> make_window_detector(const DetectionOptions& options) {
  return std::make_unique<WindowDetector>(options);
}

}  // namespace tenax::resilience
