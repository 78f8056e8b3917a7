// Situation: what an assessment of a pipeline looks at; GainThreshold: which gains are worth an
// answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>

#include "parallel/schedule/pipeline_schedule.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/adaptation/delay_estimator.hpp"
#include "resilience/adaptation/pipeline_forecast.hpp"

namespace tenax::resilience {

/// What the evaluator cannot explain it cannot mend: where ranks share cores, say, iterations take
/// longer than passes and messages make them. Only gains beyond that are believed.
class GainThreshold {
 public:
  /// An iteration took `measured_s`, where the evaluator made `evaluated_s` of its measurements.
  void add(double measured_s, double evaluated_s) {
    constexpr std::size_t kMemory = 7;
    const double difference_s = measured_s - evaluated_s;
    if (!std::isfinite(difference_s) || measured_s <= 0) return;
    differences_s_.push_back(difference_s);
    if (differences_s_.size() > kMemory) differences_s_.pop_front();
    unexplained_s_ = quantile({differences_s_.begin(), differences_s_.end()}, 0.5);
  }
  /// By how much most iterations differ from what the evaluator makes of them: one alone, in which a
  /// rank stood still, says nothing of the next.
  double unexplained_s() const { return unexplained_s_; }
  /// The least gain that counts where iterations take `iteration_s`.
  double least_gain_s(double iteration_s) const {
    constexpr double kShare = 0.01;  // of an iteration: less is not worth an answer
    return std::max(kShare * iteration_s, std::abs(unexplained_s_));
  }

 private:
  std::deque<double> differences_s_;  // of the last iterations
  double unexplained_s_ = 0;
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
