#include "app/training/training_step.hpp"

#include <algorithm>

#include "app/options.hpp"
#include "app/training/learning_rate.hpp"

namespace tenax::app {

using kernels::steady_now_s;
using parallel::HostPhase;

// As few microbatches as meet all stages at once: each is like every other.
void rehearse(const TrainingParts& parts) {
  const parallel::Layout& layout = parts.replica.layout();
  const std::int64_t microbatches = std::min(layout.schedule.microbatches(), layout.grid.pipeline);
  StepBatches batches(parts.deck, parts.replica, parts.training, parts.validation);
  parts.replica.passes(batches.training({0, microbatches * layout.microbatch.sequences * layout.grid.data}),
                       {}, nullptr);
  parts.replica.reduce();
  parts.replica.norm();
}

TrainingStep::Outcome TrainingStep::run(std::int64_t step) {
  step_ = step;
  const double begin_s = steady_now_s();
  begin();
  const kernels::UpdateRule rule = update_rule(parts_.run.deck.optimizer, learning_rate(),
                                               static_cast<double>(parts_.peers.step_tokens()), step_ + 1);
  Outcome outcome{.vote = elect(rule), .learning_rate = rule.learning_rate, .begin_s = begin_s};
  if (outcome.vote.verdict == Verdict::repeat) return outcome;
  if (outcome.vote.verdict == Verdict::stop) parts_.records.run().agree();
  update(outcome.vote, rule);
  outcome.end_s = steady_now_s();
  return outcome;
}

void TrainingStep::begin() {
  parts_.observation.begin_step(step_, parts_.watch.wants_passes());
  if (parts_.run.injector) parts_.run.injector->begin_step(step_);
  if (parts_.run.compute_faults) parts_.run.compute_faults->begin_step(step_);
}

double TrainingStep::learning_rate() const {
  return learning_rate_of_step(parts_.run.deck.optimizer, step_) * parts_.peers.learning_rate_factor();
}

StepVote TrainingStep::elect(const kernels::UpdateRule& rule) {
  StepVote vote;
  do {
    for (const StepRound& round : parts_.peers.rounds(step_)) compute(round, rule);
    sum_over_replicas();
    parts_.run.replica.sum_tied();
    vote = this->vote(norm());
  } while (vote.verdict == Verdict::again);
  return vote;
}

void TrainingStep::compute(const StepRound& round, const kernels::UpdateRule& rule) {
  parts_.peers.prepare(round);
  passes(batch(round.samples), rule);
  parts_.run.replica.reduce();
  while (parts_.peers.must_repeat_passes()) {
    passes(batch(round.samples), {});
    parts_.run.replica.reduce();
  }
  parts_.peers.conclude_round(round);
}

// What another replica has computed, who knows how; nobody's times are those of a step.
void TrainingStep::compute_again(parallel::SampleRange samples) {
  do {
    parts_.run.replica.passes(batch(samples), {}, nullptr);
    parts_.run.replica.reduce();
  } while (parts_.peers.must_repeat_passes());
}

parallel::StepBatch TrainingStep::batch(parallel::SampleRange samples) {
  const HostPhase phase(parts_.observation.profile(), "load data");
  return parts_.batches.training(samples);
}

void TrainingStep::passes(const parallel::StepBatch& batch, const kernels::UpdateRule& rule) {
  parts_.run.replica.passes(batch, rule, parts_.observation.passes(parts_.peers.share().is_usual()));
  parts_.observation.read_device();
}

void TrainingStep::sum_over_replicas() {
  if (!parts_.peers.exist()) return;
  const HostPhase phase(parts_.observation.profile(), "sum over replicas");
  parts_.peers.wait_for_sums(parts_.checkpoints.writing_since_s().has_value());
}

// Waits for the passes.
parallel::StepSums TrainingStep::norm() {
  const HostPhase phase(parts_.observation.profile(), "norm");
  return parts_.run.replica.norm();
}

// Then the losses have been waited for: to tell the observers of the passes costs no other wait for the device.
StepVote TrainingStep::vote(const parallel::StepSums& sums) {
  const HostPhase phase(parts_.observation.profile(), "vote");
  const StepBallot ballot = this->ballot(sums);
  StepVote vote = count_votes(parts_.run.replica, ballot, static_cast<double>(parts_.peers.step_tokens()),
                              parts_.run.replica.layout().has_data);
  if (vote.verdict == Verdict::again) return vote;
  parts_.watch.agree(step_, vote);
  parts_.run.replica.pipeline().report();
  parts_.observation.take_pass_times();
  parts_.peers.conclude(vote, learning_rate(), [this](parallel::SampleRange again) { compute_again(again); });
  return vote;
}

StepBallot TrainingStep::ballot(const parallel::StepSums& sums) {
  parallel::PipelineRunner& pipeline = parts_.run.replica.pipeline();
  const LoopCheckpoints& checkpoints = parts_.checkpoints;
  const bool checkpoint_is_due = parts_.run.replica.control().rank() == 0 && checkpoints.time_has_come();
  // Where the next checkpoint is due, it waits for the one before all the same.
  const bool must_wait =
      checkpoints.writing_since_s() && !checkpoint_is_due && !checkpoints.is_due(step_ + 1);
  StepBallot ballot{.sums = sums,
                    .has_failed = parts_.records.run().has_failed(),
                    .checkpoint_is_due = checkpoint_is_due,
                    .is_void = pipeline.is_void(),
                    .path_failed = pipeline.links().path_failed(),
                    .has_adaptation_events = parts_.run.adaptation && parts_.run.adaptation->has_events(),
                    .order = parts_.watch.order(),
                    .acts = parts_.mitigator.acts(must_wait),
                    .has_path_news = parts_.run.path_news.any()};
  parts_.stop.fill(ballot);
  parts_.peers.fill(ballot);
  return ballot;
}

void TrainingStep::update(const StepVote& vote, const kernels::UpdateRule& rule) {
  if (parts_.run.points) parts_.run.points->reach(resilience::StepPoint::update, step_);
  if (vote.finite && vote.updates) {
    if (parts_.peers.exist()) parts_.peers.session().before_update();
    parts_.run.replica.update(rule, vote.squares);
    parts_.run.replica.gather();
  } else if (vote.updates && parts_.peers.exist()) {
    parts_.peers.session().keep_state();
  }
  if (parts_.run.points) parts_.run.points->reach(resilience::StepPoint::commit, step_);
}

}  // namespace tenax::app
