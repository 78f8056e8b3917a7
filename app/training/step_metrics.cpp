#include "app/training/step_metrics.hpp"

#include <algorithm>
#include <vector>

namespace tenax::app {

using kernels::steady_now_s;
using resilience::ExpectedLevel;

void StepMetrics::skip_step() {
  if (parts_.adaptation) parts_.adaptation->skip_step();
}

StepMetrics::OwnAction StepMetrics::adapt(std::int64_t step, const StepVote& vote) {
  OwnAction own_action = parts_.mitigator.take_change();
  if (parts_.peers.share().take_change()) own_action = ExpectedLevel::other_work;
  if (finish_adaptation(step, vote) && !own_action) own_action = ExpectedLevel::unknown;
  return own_action;
}

// True: this step ran under a schedule or path that the one before did not have.
bool StepMetrics::finish_adaptation(std::int64_t step, const StepVote& vote) {
  parts_.records.run().restore_directory(step);
  std::vector<resilience::AdaptationEvent> events;
  {
    const parallel::HostPhase phase(parts_.observation.profile(), "adapt");
    if (!parts_.peers.share().is_usual())
      skip_step();
    else if (parts_.adaptation)
      events = parts_.adaptation->finish_step(step, parts_.observation.pass_times(),
                                              {.path_failed = vote.path_failed,
                                               .has_events = vote.has_adaptation_events,
                                               .measures = parts_.watch.wants_delays(step)});
  }
  parts_.observation.report(false);
  parts_.records.adaptations(events);
  return std::any_of(events.begin(), events.end(), [](const resilience::AdaptationEvent& event) {
    return event.kind != resilience::AdaptationKind::straggler;
  });
}

void StepMetrics::conclude(std::int64_t step, const TrainingStep::Outcome& outcome,
                           const OwnAction& own_action, double turn_s) {
  double end_s = outcome.end_s;
  // Who is late with the update is waited for when the step is measured: that is no pause of ours.
  if (parts_.adaptation) end_s = std::max(end_s, parts_.adaptation->measured_at_s());
  const double iteration_s = parts_.peers.finish_iteration(outcome.begin_s, end_s);
  record(outcome,
         {.step = step,
          .lr = outcome.learning_rate,
          .seconds = steady_now_s() - turn_s,
          .iteration_seconds = iteration_s,
          .is_masked =
              own_action || parts_.checkpoints.writing_since_s() || parts_.peers.share().is_exceptional()},
         {.begin_s = outcome.begin_s, .own_action = own_action});
}

// `metrics`: the step's times and its learning rate.
void StepMetrics::record(const TrainingStep::Outcome& outcome, io::TrainingMetrics metrics,
                         FailSlowWatch::Step watched) {
  const StepBatches& batches = parts_.batches;
  metrics.microbatches.assign(batches.shares().begin(), batches.shares().end());
  metrics.loss = outcome.vote.loss;
  metrics.grad_norm = outcome.vote.grad_norm;
  metrics.tokens = parts_.peers.step_tokens();
  metrics.tokens_per_second = static_cast<double>(metrics.tokens) / metrics.seconds;
  parts_.records.training(metrics, outcome.vote.finite);
  watched.load = batches.load() * parts_.peers.share().load();
  if (parts_.adaptation) watched.delays = parts_.adaptation->delays();
  parts_.watch.finish(metrics, watched);
  parts_.mitigator.finish(metrics);
}

}  // namespace tenax::app
