#include "app/training/iteration_watch.hpp"

#include <algorithm>
#include <utility>

#include "app/units.hpp"
#include "kernels/deadline.hpp"

namespace tenax::app {

using kernels::steady_now_s;
using resilience::Change;

IterationWatch::IterationWatch(const io::DetectSection& section, WriteEvent write, const Voice& voice)
    : write_(std::move(write)), voice_(voice) {
  if (!section.enabled) return;
  const resilience::DetectionOptions options{
      .min_change = voice.is_crowded ? std::max(section.min_change, kCrowdedChange) : section.min_change,
      .hazard = section.hazard,
      .warmup = static_cast<int>(section.warmup)};
  tracker_.emplace(resilience::make_run_length_detector(options), options);
}

std::optional<Change> IterationWatch::add(const io::TrainingMetrics& step,
                                          std::optional<resilience::ExpectedLevel> own_action) {
  if (!tracker_ || !step.iteration_seconds) return {};
  const double begin_s = steady_now_s();
  if (own_action) tracker_->own_action(*own_action);
  const auto change = tracker_->add(step.step, *step.iteration_seconds, step.is_masked);
  seconds_ += steady_now_s() - begin_s;
  if (change) tell(*change);
  return change;
}

void IterationWatch::tell(const Change& change) {
  const double before_ms = change.before_s * kMsPerSecond, after_ms = change.after_s * kMsPerSecond;
  write_(change.detected_at, change.is_onset() ? "onset" : "relief",
         io::JsonObject{}
             .add("iteration", change.iteration)
             .add("ratio", change.ratio())
             .add("probability", change.probability)
             .add("before_ms", before_ms)
             .add("after_ms", after_ms));
  if (voice_.is_crowded) return;
  voice_.console.say(
      format("step %lld: iterations take %.4g ms since step %lld, and took %.4g ms before (%s)",
             static_cast<long long>(change.detected_at), after_ms, static_cast<long long>(change.iteration),
             before_ms, change.is_onset() ? "onset" : "relief"));
}

}  // namespace tenax::app
