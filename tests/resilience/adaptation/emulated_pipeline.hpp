// EmulatedPipeline: iterations of a pipeline by the evaluator, measured with noise, under a controller: a
// closed loop without ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "parallel/planner/schedule_planner.hpp"
#include "resilience/adaptation/adaptation_controller.hpp"
#include "resilience/adaptation/schedule_scorer.hpp"

namespace tenax::resilience {

/// A forward pass, and each half of a backward pass, takes 10 ms.
inline parallel::PipelineCosts ten_ms(int stages) {
  return parallel::PipelineCosts::uniform(stages, {0.01, 0.01, 0.01});
}

class EmulatedPipeline {
 public:
  EmulatedPipeline(int microbatches, parallel::PipelineCosts costs, parallel::ActivationLimit limit = {},
                   AdaptationSettings settings = deterministic())
      : truth(std::move(costs)),
        controller(microbatches, limit, parallel::plan_initial(microbatches, truth, limit), settings),
        settings_(settings),
        paths_(truth.stages.size() - 1) {
    truth.link_delay_s.resize(paths_.size(), 0.0);
    direct_usable.assign(paths_.size(), 1);
  }

  /// Direct links block as the emulated device's do; plans do not depend on the machine's speed.
  static AdaptationSettings deterministic() {
    AdaptationSettings settings;
    settings.direct.kind = parallel::TransferModel::Kind::send_queue;
    settings.skipped_iterations = 0;
    settings.budget.evaluations = 300;
    return settings;
  }

  /// One iteration and the decision after it. `late_plan`: a plan that is wanted now is handed over an
  /// iteration later.
  void step(bool late_plan = false) {
    const PipelineMeasurement measured = measure();
    iteration_s.push_back(measured.iteration_s);
    controller.observe(steps++, measured, conditions());
    std::optional<parallel::Plan> plan = std::exchange(pending_, std::nullopt);
    if (!plan && controller.wants_plan()) {
      const parallel::PlanRequest request = controller.request();
      if (!has_threads) controller.retract_request();
      if (has_threads) plan = parallel::plan_adaptive(request);
      plans += has_threads;
      if (late_plan) std::swap(plan, pending_);
    }
    const AdaptationDecision decision = controller.decide(plan ? &*plan : nullptr);
    paths_ = decision.links;
    reschedules += decision.schedule.has_value();
    if (!decision.costs.stages.empty()) {
      told = decision.costs;
      renewals += !decision.schedule;
    }
    events.insert(events.end(), decision.events.begin(), decision.events.end());
    achieved.insert(achieved.end(), decision.achieved.begin(), decision.achieved.end());
  }
  void run(int iterations) {
    for (int i = 0; i < iterations; ++i) step();
  }

  /// The iteration time of a schedule at the true times, as the paths are now.
  double true_s(const parallel::PipelineSchedule& schedule) const {
    parallel::PipelineCosts costs = truth;
    std::vector<char> delegated;
    for (const LinkPath& path : paths_) {
      costs.link_delay_s[delegated.size()] += path.delegated ? settings_.delegate_overhead_s : 0;
      delegated.push_back(path.delegated);
    }
    return predict_s(schedule, costs, settings_.direct, delegated);
  }
  int count(AdaptationKind kind, int link = -1) const {
    return static_cast<int>(std::count_if(events.begin(), events.end(), [&](const AdaptationEvent& event) {
      return event.kind == kind && (link < 0 || event.link == link);
    }));
  }
  const std::vector<LinkPath>& paths() const { return paths_; }

  parallel::PipelineCosts truth;
  AdaptationController controller;
  double pass_jitter = 0.03, delay_noise_s = 5e-5, unexplained_s = 0;
  /// Ranks that share cores: in this share of its iterations a stage is held up for a while, which its passes show, and
  /// independently the messages that it receives.
  double stall_share = 0, least_stall_s = 0, most_stall_s = 0;
  std::vector<char> direct_usable;
  bool has_threads = true;  ///< false: nobody looks for a plan
  std::int64_t steps = 0;
  int plans = 0, reschedules = 0, renewals = 0;
  parallel::PipelineCosts told;  ///< by which rows know when an input is late, with a schedule or without
  std::vector<double> iteration_s;
  std::vector<AdaptationEvent> events, achieved;

 private:
  double jittered(double seconds) {
    // A median over microbatches: a third of a single pass's jitter.
    return seconds * (1 + pass_jitter / 3 * std::uniform_real_distribution(-1.0, 1.0)(random_));
  }
  double stall_s() {
    if (!std::bernoulli_distribution(stall_share)(stalls_)) return 0;
    return std::uniform_real_distribution(least_stall_s, most_stall_s)(stalls_);
  }
  LinkMeasurement measured_link(double delay_s, bool delegated) {
    const double copy_s = delegated ? settings_.delegate_overhead_s / 2 : 0;
    return {
        .delay_s = delay_s + copy_s + stall_s() + std::uniform_real_distribution(0.0, delay_noise_s)(random_),
        .spread_s = delay_noise_s / 2,
        .overhead_s = copy_s,
        .error_s = 2e-5,
        .samples = 12};
  }
  PipelineMeasurement measure() {
    PipelineMeasurement measured;
    for (const parallel::StageCosts& stage : truth.stages)
      measured.stages.push_back({.passes = {jittered(stage.forward_s), jittered(stage.backward_input_s),
                                            jittered(stage.backward_weight_s), stall_s()}});
    for (std::size_t link = 0; link < paths_.size(); ++link) {
      measured.stages[link + 1].activations = measured_link(truth.link_delay_s[link], paths_[link].delegated);
      measured.stages[link].gradients = measured_link(truth.link_delay_s[link], paths_[link].delegated);
    }
    measured.iteration_s = jittered(true_s(controller.running())) + unexplained_s;
    return measured;
  }
  std::vector<LinkCondition> conditions() const {
    std::vector<LinkCondition> conditions;
    for (std::size_t link = 0; link < paths_.size(); ++link)
      conditions.push_back({paths_[link].delegated, direct_usable[link] != 0});
    return conditions;
  }

  AdaptationSettings settings_;
  std::vector<LinkPath> paths_;
  std::optional<parallel::Plan> pending_;
  std::mt19937 random_{5}, stalls_{7};
};

}  // namespace tenax::resilience
