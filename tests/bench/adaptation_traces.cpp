// How the adaptation controller does under delays that keep changing, beside a planner that knows each
// iteration's delays in advance: mean iteration times over the traces of PipeMorph's figures 18 and 22,
// without ranks. Links are delegated from the start; what differs is the statistic that restless links are
// planned for.
//
//   adaptation_traces [ITERATIONS (200) [EVALUATIONS (300)]]
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "parallel/planner/baselines.hpp"
#include "parallel/planner/schedule_planner.hpp"
#include "resilience/adaptation/adaptation_controller.hpp"
#include "resilience/adaptation/delay_estimator.hpp"
#include "tests/bench/delay_traces.hpp"

namespace tenax::bench {
namespace {

using resilience::quantile;

struct Setting {
  std::string name;
  int stages = 4, microbatches = 12;
  parallel::PipelineCosts costs;
  std::vector<DelayTrace> traces;
  parallel::ActivationLimit limit = {};
};

struct Outcome {
  double mean_s = 0;
  int plans = 0, reschedules = 0;
};

resilience::LinkMeasurement measured(const std::vector<double>& delays_s) {
  return {.delay_s = quantile(delays_s, 0.5),
          .spread_s = (quantile(delays_s, 0.75) - quantile(delays_s, 0.25)) / 1.349,
          .error_s = 2e-5,
          .samples = static_cast<int>(delays_s.size())};
}

parallel::PlanRequest request_of(const Setting& setting, std::vector<double> delays_s,
                                 std::int64_t evaluations) {
  parallel::PlanRequest request;
  request.microbatches = setting.microbatches;
  request.costs = setting.costs;
  request.costs.link_delay_s = std::move(delays_s);
  request.limit = setting.limit;
  request.budget.evaluations = evaluations;
  return request;
}

/// The same schedule all the time.
double fixed_s(const Setting& setting, const parallel::PipelineSchedule& schedule, int iterations) {
  double time_s = 0;
  for (int i = 0; i < iterations; ++i)
    time_s += run_traced(schedule, setting.costs, setting.microbatches, setting.traces, time_s).makespan_s;
  return time_s / iterations;
}

/// Knows the trace: before each iteration plans for several statistics of the delays that the iteration will
/// meet, and runs the best by the trace itself.
double informed_s(const Setting& setting, int iterations, std::int64_t evaluations) {
  double time_s = 0;
  auto running = parallel::plan_zero_bubble(setting.microbatches, setting.costs, setting.limit);
  for (int i = 0; i < iterations; ++i) {
    TracedIteration best = run_traced(running, setting.costs, setting.microbatches, setting.traces, time_s);
    const TracedIteration met = best;
    for (const double q : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      std::vector<double> delays_s;
      for (std::size_t link = 0; link < setting.traces.size(); ++link) {
        std::vector<double> all = met.down_s[link];
        all.insert(all.end(), met.up_s[link].begin(), met.up_s[link].end());
        delays_s.push_back(quantile(all, q));
      }
      const auto plan = parallel::plan_adaptive(request_of(setting, delays_s, evaluations));
      TracedIteration tried =
          run_traced(plan.schedule, setting.costs, setting.microbatches, setting.traces, time_s);
      if (tried.makespan_s < best.makespan_s) {
        best = tried;
        running = plan.schedule;
      }
    }
    time_s += best.makespan_s;
  }
  return time_s / iterations;
}

Outcome adapted(const Setting& setting, const resilience::AdaptationSettings& settings, int iterations) {
  const auto links = static_cast<std::size_t>(setting.stages - 1);
  resilience::AdaptationController controller(
      setting.microbatches, setting.limit,
      parallel::plan_initial(setting.microbatches, setting.costs, setting.limit), settings);
  const std::vector<resilience::LinkCondition> conditions(links, {.delegated = true});
  Outcome outcome;
  double time_s = 0;
  for (int i = 0; i < iterations; ++i) {
    const TracedIteration iteration =
        run_traced(controller.running(), setting.costs, setting.microbatches, setting.traces, time_s);
    time_s += iteration.makespan_s;
    resilience::PipelineMeasurement measurement;
    for (const parallel::StageCosts& stage : setting.costs.stages)
      measurement.stages.push_back(
          {.passes = {stage.forward_s, stage.backward_input_s, stage.backward_weight_s}});
    for (std::size_t link = 0; link < links; ++link) {
      measurement.stages[link + 1].activations = measured(iteration.down_s[link]);
      measurement.stages[link].gradients = measured(iteration.up_s[link]);
    }
    measurement.iteration_s = iteration.makespan_s;
    controller.observe(i, measurement, conditions);
    std::optional<parallel::Plan> plan;
    if (controller.wants_plan()) plan = parallel::plan_adaptive(controller.request());
    outcome.plans += plan.has_value();
    outcome.reschedules += controller.decide(plan ? &*plan : nullptr).schedule.has_value();
  }
  outcome.mean_s = time_s / iterations;
  return outcome;
}

void compare(const Setting& setting, int iterations, std::int64_t evaluations) {
  constexpr double kMs = 1e3;
  const double zero_bubble_s = fixed_s(
      setting, parallel::plan_zero_bubble(setting.microbatches, setting.costs, setting.limit), iterations);
  const double one_f_one_b_s =
      fixed_s(setting, parallel::plan_one_f_one_b(setting.stages, setting.microbatches), iterations);
  const double initial_s = fixed_s(
      setting, parallel::plan_initial(setting.microbatches, setting.costs, setting.limit), iterations);
  const double best_s = informed_s(setting, iterations, evaluations);
  std::printf("%s: zero-bubble %.1f ms, 1F1B %.1f ms, initial plan %.1f ms, knowing the trace %.1f ms\n",
              setting.name.c_str(), zero_bubble_s * kMs, one_f_one_b_s * kMs, initial_s * kMs, best_s * kMs);
  for (const std::size_t recent : {std::size_t{2}, std::size_t{4}, std::size_t{8}})
    for (const double q : {0.5, 0.75}) {
      resilience::AdaptationSettings settings;
      settings.paths = resilience::PathChoice::delegated_only;
      settings.budget.evaluations = evaluations;
      settings.forecast.links.recent = recent;
      settings.forecast.links.quantile = q;
      const Outcome outcome = adapted(setting, settings, iterations);
      std::printf("  recent %2zu, quantile %.2f: %.1f ms, %+.2f %%; %d plans, %d reschedules\n", recent, q,
                  outcome.mean_s * kMs, (outcome.mean_s / best_s - 1) * 100, outcome.plans,
                  outcome.reschedules);
    }
}

std::vector<DelayTrace> traces_of(int links, const std::function<DelayTrace()>& make) {
  std::vector<DelayTrace> traces;
  for (int link = 0; link < links; ++link) traces.push_back(make());
  return traces;
}

}  // namespace
}  // namespace tenax::bench

int main(int count, char** arguments) {
  using namespace tenax::bench;
  const int iterations = count > 1 ? std::atoi(arguments[1]) : 200;
  const std::int64_t evaluations = count > 2 ? std::atoi(arguments[2]) : 300;
  const double length_s = iterations * 1.0;
  std::mt19937 random(1);
  for (const auto [stages, microbatches, live] :
       {std::array{4, 12, 0}, std::array{4, 12, 7}, std::array{8, 24, 12}}) {
    Setting setting;
    setting.stages = stages;
    setting.microbatches = microbatches;
    setting.costs = tenax::parallel::PipelineCosts::uniform(stages, {0.01, 0.01, 0.01});
    if (live > 0) setting.limit.microbatches_of_stage.assign(static_cast<std::size_t>(stages), live);
    const auto run = [&](const std::string& name, const std::function<DelayTrace()>& make) {
      setting.name =
          "S " + std::to_string(setting.stages) + ", N " + std::to_string(setting.microbatches) + ", " + name;
      if (!setting.limit.none())
        setting.name += ", at most " + std::to_string(setting.limit.microbatches(0)) + " live";
      setting.traces = traces_of(setting.stages - 1, make);
      compare(setting, iterations, evaluations);
    };
    run("A (50-100 ms)", [&] { return resampled_trace(0.050, 0.100, length_s, random); });
    run("B (100-200 ms)", [&] { return resampled_trace(0.100, 0.200, length_s, random); });
    run("C (200-400 ms)", [&] { return resampled_trace(0.200, 0.400, length_s, random); });
    run("bursty", [&] { return bursty_trace(1.0, length_s, random); });
  }
  return 0;
}
