#include "resilience/detection/run_length_detector.hpp"

#include <algorithm>
#include <cmath>

#include "resilience/detection/change_check.hpp"

namespace tenax::resilience {
namespace {

constexpr double kSure = 0.9;
constexpr std::int64_t kAfter = kLeastAfter, kApart = kLeastApart;
constexpr std::int64_t kMostAfter =
    12;  // a change that is not told by then is below the threshold, or a drift
constexpr std::int64_t kPlaceTolerance = 3;  // between the best place and the beginning of a run
constexpr std::int64_t kDriftFrom = 44;  // values since the last change: until then its level is one of few
constexpr double kDriftDoubt = 0.75;     // of the noise

}  // namespace

RunLengthDetector::RunLengthDetector(const DetectionOptions& options)
    : threshold_(std::log1p(options.min_change)),
      posterior_({.hazard = options.hazard}),
      health_(threshold_) {}

std::optional<Change> RunLengthDetector::add(std::int64_t iteration, double seconds) {
  const double x = std::log(seconds);
  posterior_.add(recent_.count(), x);
  recent_.add(iteration, x);
  health_.add(x);
  if (recent_.count() < kFirstTold) return {};
  if (auto change = slow_after_own_action()) return change;
  if (auto change = sudden_change()) return change;
  if (auto change = end_of_burst()) return change;
  return drift();
}

void RunLengthDetector::begin_level(ExpectedLevel expected) {
  posterior_.clear();
  health_.begin_level(expected);
  level_begin_ = recent_.count();
  told_.reset();
  after_own_action_ = true;
}

std::optional<Change> RunLengthDetector::sudden_change() {
  const std::int64_t count = recent_.count(), soonest = level_begin_ + kApart;
  const std::int64_t from = std::max(soonest, count - kMostAfter), to = count - kAfter;
  if (from > to || posterior_.since(from - kPlaceTolerance) < kSure) return {};
  const std::int64_t begin = std::max(level_begin_, recent_.oldest());
  const auto values = recent_.values_from(begin);
  const std::size_t split =
      splitter_.best(values, static_cast<std::size_t>(std::max(soonest - begin, kAfter)));
  const std::int64_t place = begin + static_cast<std::int64_t>(split);
  const double probability = posterior_.since(place - kPlaceTolerance);
  if (place < from || place > to || probability < kSure) return {};
  const auto change = check_change(values, split, threshold_);
  if (!change) return {};
  return tell(begin + static_cast<std::int64_t>(change->place), change->before, change->after, probability);
}

// A change that lasted less than kApart has no other after it. Where its level is gone, what came
// instead is told as soon as it may be.
std::optional<Change> RunLengthDetector::end_of_burst() {
  const std::int64_t place = level_begin_ + kApart, count = recent_.count();
  if (!told_ || count < place + kAfter || count > place + kMostAfter) return {};
  const double in_burst =
      posterior_.since(level_begin_ - kPlaceTolerance) - posterior_.since(level_begin_ + kAfter);
  if (1 - in_burst < kSure || posterior_.in_force().begin() > place) return {};
  const double level = median_of(recent_.values_from(place));
  if (std::abs(level - *told_) < threshold_) return {};
  return tell(place, *told_, level, 1 - in_burst);
}

// Its place is where the run in force begins. Where the level began with that, and so perhaps another change,
// it is where the values begin that show the drift.
std::optional<Change> RunLengthDetector::drift() {
  const auto reference = health_.reference(), recent = health_.recent();
  if (recent_.count() - level_begin_ < kDriftFrom || !reference || !recent) return {};
  const LevelRun& run = posterior_.in_force();
  const double side = *recent > *reference ? 1 : -1;
  if (side < 0 && !health_.is_slow()) return {};  // healthy iterations may become faster little by little
  const double off = side * (*recent - *reference), off_of_run = side * (run.level() - *reference);
  if (off < threshold_ + kDriftDoubt * run.noise() || off_of_run < threshold_) return {};
  std::int64_t place = std::max({run.begin(), level_begin_, recent_.oldest()});
  double probability = posterior_.since(level_begin_ + kApart);
  const bool began_with_level = place < level_begin_ + kApart;
  if (began_with_level) {
    place = recent_.count() - HealthyLevel::kRecent;
    probability = 1;  // no run tells of it, but the medians do
  }
  if (recent_.count() - place < kAfter) return {};
  const double level = median_of(recent_.values_from(place));
  if (side * (level - *reference) < threshold_) return {};  // it would be told again and again
  Change change = tell(place, *reference, level, probability);
  if (began_with_level) told_.reset();  // no burst begins there
  change.is_drift = true;
  return change;
}

std::optional<Change> RunLengthDetector::slow_after_own_action() {
  if (!after_own_action_ || recent_.count() - level_begin_ < kApart) return {};
  after_own_action_ = false;
  const double level = median_of(recent_.values_from(level_begin_));
  const auto reference = health_.reference();  // a fault may have begun meanwhile, also beside another one
  if (reference && level - *reference >= threshold_) return tell(level_begin_, *health_.healthy(), level, 1);
  if (health_.is_slow()) health_.settle(level);
  return {};
}

Change RunLengthDetector::tell(std::int64_t place, double before, double after, double probability) {
  level_begin_ = place;
  told_ = after;
  health_.change(before, after);
  return {.iteration = recent_.iteration(place),
          .detected_at = recent_.iteration(recent_.count() - 1),
          .before_s = std::exp(before),
          .after_s = std::exp(after),
          .probability = probability};
}

std::unique_ptr<ChangeDetector> make_run_length_detector(const DetectionOptions& options) {
  return std::make_unique<RunLengthDetector>(options);
}

}  // namespace tenax::resilience
