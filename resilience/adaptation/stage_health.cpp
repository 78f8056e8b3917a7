#include "resilience/adaptation/stage_health.hpp"

#include <algorithm>

namespace tenax::resilience {

void StageHealth::assess(std::int64_t step, double iteration_s, const PipelineForecast& forecast,
                         const GainThreshold& threshold) {
  constexpr double kEnter = 1.2, kLeave = 1.1;
  std::vector<double> slowdown;
  for (std::size_t index = 0; index < stages_.size(); ++index) {
    const double now_s = forecast.stage_s(static_cast<int>(index));
    double& normal_s = stages_[index].normal_s;
    normal_s = normal_s > 0 ? std::min(normal_s, now_s) : now_s;
    slowdown.push_back(normal_s > 0 ? now_s / normal_s : 1);
  }
  std::vector<double> sorted = slowdown;
  std::sort(sorted.begin(), sorted.end());
  const double common = sorted[(sorted.size() - 1) / 2];
  for (std::size_t index = 0; index < stages_.size(); ++index) {
    Stage& stage = stages_[index];
    const bool was_slow = stage.slow;
    const double lost_s = microbatches_ * (slowdown[index] - common) * stage.normal_s;
    stage.slow = slowdown[index] > (stage.slow ? kLeave : kEnter) * common &&
                 (stage.slow || lost_s > threshold.least_gain_s(iteration_s));
    if (stage.slow != was_slow) stage.changed_at = step;
    if (!stage.slow && step - stage.changed_at >= kLasting) stage.reported = false;
  }
}

bool StageHealth::any_is_slow() const {
  return std::any_of(stages_.begin(), stages_.end(), [](const Stage& stage) { return stage.slow; });
}

void StageHealth::report(const AdaptationEvent& now, const PipelineForecast& forecast,
                         std::vector<AdaptationEvent>& events) {
  for (std::size_t index = 0; index < stages_.size(); ++index) {
    Stage& stage = stages_[index];
    if (!stage.slow || stage.reported || now.step - stage.changed_at < kLasting) continue;
    stage.reported = true;
    AdaptationEvent event = now;
    event.kind = AdaptationKind::straggler;
    event.stage = static_cast<int>(index);
    event.delay_s = forecast.stage_s(static_cast<int>(index)) - stage.normal_s;
    events.push_back(event);
  }
}

}  // namespace tenax::resilience
