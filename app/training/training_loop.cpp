#include "app/training/training_loop.hpp"

#include <filesystem>
#include <utility>

#include "app/options.hpp"

namespace tenax::app {

using kernels::steady_now_s;

TrainingLoop::TrainingLoop(TrainingParts parts, std::int64_t first_step)
    : parts_(std::move(parts)),
      position_{.step = first_step},
      peers_(parts_.deck, parts_.replica, parts_.peers, parts_.peer_state, parts_.sample_offset,
             parts_.judges_times),
      records_({.deck = parts_.deck,
                .replica = parts_.replica,
                .peers = parts_.peers,
                .lock = parts_.lock,
                .records_directory = parts_.records_directory,
                .console = parts_.console,
                .machine_flop_per_second = parts_.machine_flop_per_second,
                .judges_times = parts_.judges_times},
               first_step),
      stop_(parts_.deck, parts_.signals, parts_.peers, parts_.started_s),
      observation_(parts_.deck, parts_.replica, parts_.adaptation, parts_.device),
      checkpoints_(parts_.deck, parts_.checkpoints, records_.run(), parts_.console, observation_.profile()),
      batches_(parts_.deck, parts_.replica, parts_.training, parts_.validation),
      validation_(
          {parts_.deck, parts_.replica, batches_, observation_, peers_, records_, stop_, parts_.console}),
      watch_(watch_parts()),
      mitigator_(mitigator_parts()),
      step_({parts_, peers_, batches_, observation_, checkpoints_, records_, stop_, watch_, mitigator_}),
      metrics_(
          {parts_.adaptation, peers_, batches_, observation_, checkpoints_, records_, watch_, mitigator_}),
      membership_({parts_, peers_, checkpoints_, validation_}) {
  if (watch_.observer()) observation_.add(*watch_.observer());
  if (parts_.sample_offset != 0)
    position_.next_sample = samples_of_step(parts_.deck, first_step).first + parts_.sample_offset;
  if (peers_.exist()) tell_peers_of_saves();
}

FailSlowWatch::Parts TrainingLoop::watch_parts() {
  return {.deck = parts_.deck,
          .replica = parts_.replica,
          .context = parts_.context,
          .device = parts_.device,
          .observation = observation_,
          .probe = parts_.probe,
          .write = writer(),
          .console = parts_.console,
          .place = parts_.place,
          .judges_times = parts_.judges_times,
          .told = [this](const auto& event, const auto& reports) { mitigator_.take(event, reports); }};
}

// Without `regrid` ranks keep their places.
Mitigator::Parts TrainingLoop::mitigator_parts() {
  Mitigator::Parts parts{.deck = parts_.deck,
                         .replica = parts_.replica,
                         .batches = batches_,
                         .adaptation = parts_.adaptation,
                         .watch = watch_,
                         .write = writer(),
                         .console = parts_.console,
                         .regrid = {},
                         .started_s = parts_.started_s,
                         .checkpoint_s = [this] { return checkpoints_.last_write_s(); },
                         .restart_without = [this](auto hosts) { stop_.restart_without(std::move(hosts)); },
                         .is_enabled = parts_.probe && !parts_.peers,
                         .judges_times = parts_.judges_times};
  if (parts_.swap) parts.regrid = [this](const auto& rank_of_position) { return regrid(rank_of_position); };
  return parts;
}

WriteEvent TrainingLoop::writer() {
  return [this](std::int64_t step, const std::string& name, const io::JsonObject& details) {
    records_.observed(step, name, details);
  };
}

void TrainingLoop::tell_peers_of_saves() {
  checkpoints_.on_wait([this] { peers_.session().on_saving(); });
  checkpoints_.tell([this](const resilience::SaveReport& report, bool is_final) {
    peers_.session().on_saved({.done = report.step,
                               .bytes = report.bytes,
                               .seconds = report.seconds,
                               .failure = report.failure,
                               .is_final = is_final});
  });
}

std::string TrainingLoop::run() {
  Verdict verdict = Verdict::go_on;
  if (validation_.is_lacking(position_.step) && !validation_.run(position_.step)) verdict = break_off();
  while (verdict == Verdict::go_on && (peers_.exist() || has_steps_left())) verdict = step();
  const std::string& reason = stop_.end(!has_steps_left());
  if (stop_.goes_on() && !peers_.exist()) validation_.run_last(position_.step);
  write_trace();
  mitigator_.close();
  if (parts_.adaptation) records_.adaptations(parts_.adaptation->last_events());
  if (!peers_.exist() && checkpoints_.finish(position_.step, position_.next_sample))
    write_trace();  // with the checkpoint
  stop_.exclude_hosts(parts_.replica.control());
  records_.run().agree();
  if (const std::string& failure = observation_.trace_failure(); !failure.empty())
    parts_.console.warn("the last step's trace is left out: " + failure);
  return reason;
}

Verdict TrainingLoop::step() {
  const double turn_s = steady_now_s();
  if (!membership_.begin(position_)) return Verdict::suspend;
  const TrainingStep::Outcome outcome = step_.run(position_.step);
  if (outcome.vote.verdict == Verdict::repeat) {
    metrics_.skip_step();
    return Verdict::go_on;
  }
  const StepMetrics::OwnAction own_action = metrics_.adapt(position_.step, outcome.vote);
  metrics_.conclude(position_.step, outcome, own_action, turn_s);
  advance(outcome.vote);
  if (outcome.vote.has_path_news)
    parts_.path_news.write(parts_.replica.control(), position_.step - 1, writer());
  return finish(outcome.vote);
}

// A step is recorded before it is saved: a run that is killed between the two repeats the step, else its line would be missing.
void TrainingLoop::advance(const StepVote& vote) {
  if (vote.verdict == Verdict::suspend) stop_.suspend(vote);
  position_ = {.step = position_.step + 1, .next_sample = peers_.next_sample()};
  checkpoints_.record(has_steps_left() && stop_.goes_on());
  records_.refuse_divergence();
}

// What comes between two steps.
Verdict TrainingLoop::finish(const StepVote& vote) {
  const bool validates = vote.verdict == Verdict::go_on && vote.updates && validation_.is_due(position_.step);
  const bool breaks_off = validates && !validation_.run(position_.step);
  if (breaks_off && !peers_.exist()) return break_off();
  if (vote.verdict != Verdict::go_on || !has_steps_left()) return vote.verdict;
  const std::int64_t step = position_.step - 1;
  watch_.validate(step);
  if (vote.acts) mitigator_.act(step);
  const bool is_last_near =
      breaks_off && validation_.broken_off_by().time_is_up;  // its supervisor ends the run
  if (!is_last_near) checkpoint(vote);
  if (observation_.must_trace(step)) write_trace();
  return vote.verdict;
}

// Ends the run as a suspended step does. The next start validates.
Verdict TrainingLoop::break_off() {
  stop_.break_off(validation_.broken_off_by());
  return Verdict::suspend;
}

void TrainingLoop::checkpoint(const StepVote& vote) {
  if (!peers_.writes_checkpoints()) return;
  if (!vote.checkpoint_is_due && !checkpoints_.is_due(position_.step)) return;
  membership_.keep_commits();
  checkpoints_.start(parts_.replica.control(), position_.step, position_.next_sample);
  if (peers_.exist()) peers_.session().on_checkpoint();
}

void TrainingLoop::write_trace() {
  observation_.write_trace(
      peers_.exist() ? parts_.records_directory : std::filesystem::path(parts_.deck.run.output_dir),
      position_.step - 1, checkpoints_.writing_since_s());
}

// Between steps. What the adaptation has changed ends with the old pipelines.
GridSwap::Outcome TrainingLoop::regrid(const std::vector<int>& rank_of_position) {
  const double begin_s = steady_now_s();
  try {
    checkpoints_.settle(parts_.replica.control());
  } catch (const comm::AgreedError& error) {
    return {.waited_s = steady_now_s() - begin_s, .refusal = error.what()};
  }
  const double waited_s = steady_now_s() - begin_s;
  if (parts_.adaptation) records_.adaptations(parts_.adaptation->last_events());
  observation_.report(true);
  const int old_stage = parts_.replica.coordinates().pipeline;
  GridSwap::Outcome outcome = parts_.swap->run(rank_of_position);
  outcome.waited_s = waited_s;
  if (!outcome.refusal.empty()) return outcome;
  observation_.follow_swap();
  watch_.follow_swap(old_stage);
  return outcome;
}

void TrainingLoop::log_open_adaptations() {
  if (parts_.adaptation) records_.adaptations(parts_.adaptation->own_last_events());
}

}  // namespace tenax::app
