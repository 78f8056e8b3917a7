// Situation: what an assessment of a pipeline looks at; GainThreshold: which gains are worth an
// answer.
#pragma once

#include <algorithm>
#include <cmath>

#include "parallel/schedule/pipeline_schedule.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/adaptation/pipeline_forecast.hpp"

namespace tenax::resilience {

/// What the evaluator cannot explain it cannot mend: where ranks share cores, say, iterations take
/// longer than passes and messages make them. Only gains beyond that are believed.
class GainThreshold {
 public:
  /// An iteration took `measured_s`, where the evaluator made `evaluated_s` of its measurements.
  void add(double measured_s, double evaluated_s) {
    constexpr int kMemory = 4;
    const double difference_s = measured_s - evaluated_s;
    if (!std::isfinite(difference_s) || measured_s <= 0) return;
    compared_ = std::min(compared_ + 1, kMemory);
    unexplained_s_ += (difference_s - unexplained_s_) / compared_;
  }
  /// The least gain that counts where iterations take `iteration_s`.
  double least_gain_s(double iteration_s) const {
    constexpr double kShare = 0.01;  // of an iteration: less is not worth an answer
    return std::max(kShare * iteration_s, std::abs(unexplained_s_));
  }

 private:
  double unexplained_s_ = 0;  // by how much iterations differ from what the evaluator makes of them
  int compared_ = 0;
};

struct Situation {
  const PipelineForecast& forecast;
  const parallel::PipelineCosts& costs;  ///< the forecast's
  /// Running now, and the one for unknown stragglers, which a healthy pipeline goes back to.
  const parallel::PipelineSchedule &running, &home;
  const parallel::TransferModel& direct;
  const GainThreshold& threshold;
};

}  // namespace tenax::resilience
