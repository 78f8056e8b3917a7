// Delays that change while a pipeline runs, and what a schedule takes under them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <vector>

#include "parallel/schedule/dependency_walk.hpp"
#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/timeline.hpp"

namespace tenax::bench {

/// A step function of time; the last value holds.
struct DelayTrace {
  std::vector<double> from_s, delay_s;

  double at(double time_s) const {
    const auto next = std::upper_bound(from_s.begin(), from_s.end(), time_s);
    return delay_s[next == from_s.begin() ? 0 : static_cast<std::size_t>(next - from_s.begin()) - 1];
  }
};

/// N(30, 10) ms, resampled every U(shortest, longest) (PipeMorph, NSDI 2026, figure 18).
inline DelayTrace resampled_trace(double shortest_s, double longest_s, double length_s,
                                  std::mt19937& random) {
  std::normal_distribution<double> delay_s(0.030, 0.010);
  std::uniform_real_distribution<double> interval_s(shortest_s, longest_s);
  DelayTrace trace;
  for (double time_s = 0; time_s < length_s; time_s += interval_s(random)) {
    trace.from_s.push_back(time_s);
    trace.delay_s.push_back(std::max(0.0, delay_s(random)));
  }
  return trace;
}

/// Bursts of congestion (figure 22: median 13, mean 22, 99 % 79 ms): a slow random level of log-normal delays
/// with short peaks on top of it.
inline DelayTrace bursty_trace(double step_s, double length_s, std::mt19937& random) {
  std::normal_distribution<double> normal;
  DelayTrace trace;
  double state = 0, peak = 0;
  for (double time_s = 0; time_s < length_s; time_s += step_s) {
    state = 0.97 * state + 0.24 * normal(random);
    peak = random() % 40 == 0 ? 1.0 : 0.7 * peak;
    trace.from_s.push_back(time_s);
    trace.delay_s.push_back(std::min(0.090, 0.013 * std::exp(0.85 * state + 0.6 * peak)));
  }
  return trace;
}

struct TracedIteration {
  double makespan_s = 0;
  std::vector<std::vector<double>> down_s, up_s;  ///< per link: the delays that its messages had
};

/// As parallel::simulate() with links as pure latency, from `begin_s` of the traces on.
inline TracedIteration run_traced(const parallel::PipelineSchedule& schedule,
                                  const parallel::PipelineCosts& costs, int microbatches,
                                  const std::vector<DelayTrace>& traces, double begin_s) {
  const auto stages = static_cast<std::size_t>(schedule.stages()), n = static_cast<std::size_t>(microbatches);
  std::vector<double> activation_s(stages * n, begin_s), gradient_s(stages * n, begin_s);  // arrivals
  std::vector<double> free_s(stages, begin_s);
  TracedIteration iteration{.down_s = std::vector<std::vector<double>>(stages - 1),
                            .up_s = std::vector<std::vector<double>>(stages - 1)};
  parallel::DependencyWalk(schedule, microbatches).run([&](int stage_number, int index) {
    const auto stage = static_cast<std::size_t>(stage_number);
    const parallel::PipelineOp& op = schedule.ops_of_stage[stage][static_cast<std::size_t>(index)];
    const std::size_t at = stage * n + static_cast<std::size_t>(op.microbatch);
    const bool forward = op.pass == parallel::Pass::forward, gradient = gives_input_gradient(op.pass);
    const double input_s = forward ? activation_s[at] : gradient ? gradient_s[at] : begin_s;
    const double end_s = std::max(free_s[stage], input_s) + costs.stages[stage].of(op.pass);
    free_s[stage] = end_s;
    iteration.makespan_s = std::max(iteration.makespan_s, end_s - begin_s);
    if (forward && stage + 1 < stages) {
      iteration.down_s[stage].push_back(traces[stage].at(end_s));
      activation_s[at + n] = end_s + iteration.down_s[stage].back();
    }
    if (gradient && stage > 0) {
      iteration.up_s[stage - 1].push_back(traces[stage - 1].at(end_s));
      gradient_s[at - n] = end_s + iteration.up_s[stage - 1].back();
    }
  });
  return iteration;
}

}  // namespace tenax::bench
