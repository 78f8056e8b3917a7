#include "app/training/training_loop.hpp"

#include <algorithm>
#include <filesystem>

#include "app/options.hpp"
#include "app/training/learning_rate.hpp"
#include "app/training/start_elsewhere.hpp"

namespace tenax::app {

using kernels::Deadline;
using kernels::Scope;
using kernels::steady_now_s;
using parallel::HostPhase;

namespace {

constexpr double kSecondsPerMinute = 60;

}  // namespace

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

TrainingLoop::TrainingLoop(TrainingParts parts, std::int64_t first_step)
    : parts_(parts),
      step_(first_step),
      peers_(parts.deck, parts.replica, parts.peers, parts.peer_state, parts.sample_offset),
      records_({.deck = parts.deck,
                .replica = parts.replica,
                .peers = parts.peers,
                .lock = parts.lock,
                .records_directory = parts.records_directory,
                .console = parts.console,
                .machine_flop_per_second = parts.machine_flop_per_second,
                .judges_times = parts.judges_times},
               first_step),
      observation_(parts.deck, parts.replica, parts.adaptation, parts.device),
      checkpoints_(parts.deck, parts.checkpoints, records_.run(), parts.console, observation_.profile()),
      batches_(parts.deck, parts.replica, parts.training, parts.validation),
      validation_(parts.deck, parts.replica, batches_, observation_),
      watch_({.deck = parts.deck,
              .replica = parts.replica,
              .context = parts.context,
              .device = parts.device,
              .probe = parts.probe,
              .write = [this](std::int64_t step, const std::string& name,
                              const io::JsonObject& details) { records_.observed(step, name, details); },
              .console = parts.console,
              .place = parts.place,
              .judges_times = parts.judges_times,
              .told = [this](const auto& event, const auto& reports) { mitigator_.take(event, reports); }}),
      mitigator_({.deck = parts.deck,
                  .replica = parts.replica,
                  .batches = batches_,
                  .adaptation = parts.adaptation,
                  .watch = watch_,
                  .write = [this](std::int64_t step, const std::string& name,
                                  const io::JsonObject& details) { records_.observed(step, name, details); },
                  .console = parts.console,
                  .regrid = regridder(),
                  .started_s = parts.started_s,
                  .checkpoint_s = [this] { return checkpoints_.last_write_s(); },
                  .restart_without = [this](auto hosts) { restart_without(std::move(hosts)); },
                  .is_enabled = parts.probe && !parts.peers,
                  .judges_times = parts.judges_times}) {
  if (watch_.observer()) observation_.add(*watch_.observer());
  if (parts.sample_offset != 0) next_sample_ = samples_of_step(parts.deck, step_).first + parts.sample_offset;
  if (!peers_.exist()) return;
  checkpoints_.on_wait([this] { peers_.session().on_saving(); });
  checkpoints_.tell([this](const resilience::SaveReport& report) {
    peers_.session().on_saved(
        {.done = report.step, .bytes = report.bytes, .seconds = report.seconds, .failure = report.failure});
  });
}

// What the adaptation has changed ends with the old pipelines.
GridSwap::Outcome TrainingLoop::regrid(const std::vector<int>& rank_of_position) {
  try {
    checkpoints_.settle(parts_.replica.control());
  } catch (const comm::AgreedError& error) {
    return {.refusal = error.what()};
  }
  if (parts_.adaptation) records_.adaptations(parts_.adaptation->last_events());
  observation_.report(true);
  const int old_stage = parts_.replica.coordinates().pipeline;
  const GridSwap::Outcome outcome = parts_.swap->run(rank_of_position);
  if (!outcome.refusal.empty()) return outcome;
  observation_.follow_swap();
  watch_.follow_swap(old_stage);
  return outcome;
}

std::string TrainingLoop::run() {
  Verdict verdict = Verdict::go_on;
  while (verdict == Verdict::go_on && (peers_.exist() || has_steps_left())) verdict = step();
  if (peers_.exist())
    end_reason_ = "signal";  // the service ends a run before its last step where somebody asks for it
  if (!has_steps_left()) end_reason_ = "completed";
  if (end_reason_ == "completed" && !peers_.exist()) validate();
  write_trace();
  mitigator_.close();
  if (parts_.adaptation) records_.adaptations(parts_.adaptation->last_events());
  if (!peers_.exist() && checkpoints_.finish(step_, next_sample_)) write_trace();  // with the checkpoint
  if (verdict == Verdict::suspend && !peers_.exist() && validation_.is_due(step_))
    validate();  // who stops it may not wait for more than the checkpoint
  if (end_reason_ == kRestart) exclude_hosts();
  records_.run().agree();
  if (const std::string& failure = observation_.trace_failure(); !failure.empty())
    parts_.console.warn("the last step's trace is left out: " + failure);
  return end_reason_;
}

// A step is recorded before it is saved: a run that is killed between the two repeats the step, else its line would be missing.
Verdict TrainingLoop::step() {
  parallel::Replica& replica = parts_.replica;
  const double turn_s = steady_now_s();
  if (!begin()) return Verdict::suspend;
  parts_.device.reclaim_memory();
  const double begin_s = steady_now_s();
  observation_.begin_step(step_, watch_.wants_passes());
  if (parts_.injector) parts_.injector->begin_step(step_);
  if (parts_.compute_faults) parts_.compute_faults->begin_step(step_);
  const kernels::UpdateRule rule = update_rule(parts_.deck.optimizer, learning_rate(),
                                               static_cast<double>(peers_.step_tokens()), step_ + 1);
  StepVote vote;
  do {
    for (const StepRound& round : peers_.rounds(step_)) compute(round, rule);
    sum_over_replicas();
    replica.sum_tied();
    vote = this->vote(norm());
  } while (vote.verdict == Verdict::again);
  if (vote.verdict == Verdict::repeat) return Verdict::go_on;
  if (vote.verdict == Verdict::stop) records_.run().agree();
  update(vote, rule);
  double end_s = steady_now_s();
  std::optional<resilience::ExpectedLevel> own_action = mitigator_.take_change();
  if (peers_.share().take_change()) own_action = resilience::ExpectedLevel::other_work;
  if (adapt(vote) && !own_action) own_action = resilience::ExpectedLevel::unknown;
  // Who is late with the update is waited for when the step is measured: that is no pause of ours.
  if (parts_.adaptation) end_s = std::max(end_s, parts_.adaptation->measured_at_s());
  const double iteration_s = peers_.finish_iteration(begin_s, end_s);
  record(vote,
         {.lr = rule.learning_rate,
          .seconds = steady_now_s() - turn_s,
          .iteration_seconds = iteration_s,
          .is_masked = own_action || checkpoints_.writing_since_s() || peers_.share().is_exceptional()},
         {.begin_s = begin_s, .own_action = own_action});
  if (vote.has_path_news)
    parts_.path_news.write(replica.control(), step_ - 1,
                           [this](auto... event) { records_.observed(event...); });
  if (vote.verdict == Verdict::go_on && vote.updates && validation_.is_due(step_)) validate();
  if (vote.verdict == Verdict::go_on && has_steps_left()) {
    watch_.validate(step_ - 1);
    if (vote.acts) mitigator_.act(step_ - 1);
    checkpoint(vote);
    trace();
  }
  return vote.verdict;
}

// False: the run has ended, in order.
bool TrainingLoop::begin() {
  using Action = resilience::MemberPlan::Action;
  if (!peers_.exist()) return true;
  while (peers_.begin().plan.action != Action::train) {
    const resilience::MemberPlan& plan = peers_.work().plan;
    if (plan.action == Action::exit && plan.status == 0) return false;
    follow(plan);
  }
  step_ = peers_.work().plan.step;
  return true;
}

// Empty where ranks keep their places.
std::function<GridSwap::Outcome(const std::vector<int>&)> TrainingLoop::regridder() {
  if (!parts_.swap) return {};
  return [this](const std::vector<int>& rank_of_position) { return regrid(rank_of_position); };
}

// What replicas are told to do besides training.
void TrainingLoop::follow(const resilience::MemberPlan& plan) {
  using Action = resilience::MemberPlan::Action;
  if (plan.action == Action::restore) {
    const RestoredState state = parts_.restore();
    step_ = state.steps;
    validation_.forget();
    next_sample_ = state.next_sample;
    return peers_.session().on_restored(state.steps, state.next_sample);
  }
  if (plan.action == Action::save && !has_steps_left()) validate();
  const bool saves = plan.action == Action::save || plan.action == Action::give_up;
  const bool has_saved = saves && checkpoints_.finish(step_, plan.next_sample);
  if (has_saved && plan.action == Action::give_up)
    parts_.place_checkpoint(step_, peers_.session().unrecorded());
  if (plan.action == Action::save) {
    if (!has_saved) peers_.session().on_saved({.done = plan.step});
    return;
  }
  throw comm::AgreedError(Scope::replica, plan.reason);
}

double TrainingLoop::learning_rate() const {
  return learning_rate_of_step(parts_.deck.optimizer, step_) * peers_.learning_rate_factor();
}

void TrainingLoop::compute(const StepRound& round, const kernels::UpdateRule& rule) {
  parallel::Replica& replica = parts_.replica;
  peers_.prepare(round);
  passes(batch(round.samples), rule);
  replica.reduce();
  while (peers_.must_repeat_passes()) {
    passes(batch(round.samples), {});
    replica.reduce();
  }
  peers_.conclude_round(round);
}

// What another replica has computed, who knows how; nobody's times are those of a step.
void TrainingLoop::compute_again(parallel::SampleRange samples) {
  do {
    parts_.replica.passes(batch(samples), {}, nullptr);
    parts_.replica.reduce();
  } while (peers_.must_repeat_passes());
}

parallel::StepBatch TrainingLoop::batch(parallel::SampleRange samples) {
  const HostPhase phase(observation_.profile(), "load data");
  return batches_.training(samples);
}

void TrainingLoop::passes(const parallel::StepBatch& batch, const kernels::UpdateRule& rule) {
  parts_.replica.passes(batch, rule, observation_.passes(peers_.share().is_usual()));
  observation_.read_device();
}

void TrainingLoop::sum_over_replicas() {
  if (!peers_.exist()) return;
  const HostPhase phase(observation_.profile(), "sum over replicas");
  peers_.wait_for_sums(checkpoints_.writing_since_s().has_value());
}

// Waits for the passes.
parallel::StepSums TrainingLoop::norm() {
  const HostPhase phase(observation_.profile(), "norm");
  return parts_.replica.norm();
}

// Then the losses have been waited for: to tell the observers of the passes costs no other wait for the device.
StepVote TrainingLoop::vote(const parallel::StepSums& sums) {
  parallel::PipelineRunner& pipeline = parts_.replica.pipeline();
  const HostPhase phase(observation_.profile(), "vote");
  StepBallot ballot{.sums = sums,
                    .signalled = parts_.signals.requested(),
                    .time_is_up = time_is_up(),
                    .restarts = !excluded_hosts_.empty(),
                    .has_failed = records_.run().has_failed(),
                    .checkpoint_is_due = parts_.replica.control().rank() == 0 && checkpoints_.time_has_come(),
                    .is_void = pipeline.is_void(),
                    .path_failed = pipeline.links().path_failed(),
                    .has_adaptation_events = parts_.adaptation && parts_.adaptation->has_events(),
                    .order = watch_.order(),
                    .acts = mitigator_.acts(),
                    .has_path_news = parts_.path_news.any()};
  peers_.fill(ballot);
  std::vector<double> reports = watch_.report();
  StepVote vote = count_votes(parts_.replica, ballot, static_cast<double>(peers_.step_tokens()),
                              parts_.replica.layout().has_data, reports);
  if (vote.verdict == Verdict::again) return vote;
  watch_.agree(step_, vote, reports);
  pipeline.report();
  observation_.take_pass_times();
  peers_.conclude(vote, learning_rate(), [this](parallel::SampleRange samples) { compute_again(samples); });
  return vote;
}

void TrainingLoop::update(const StepVote& vote, const kernels::UpdateRule& rule) {
  if (parts_.points) parts_.points->reach(resilience::StepPoint::update, step_);
  if (vote.finite && vote.updates) {
    if (peers_.exist()) peers_.session().before_update();
    parts_.replica.update(rule, vote.squares);
    parts_.replica.gather();
  } else if (vote.updates && peers_.exist()) {
    peers_.session().keep_state();
  }
  if (parts_.points) parts_.points->reach(resilience::StepPoint::commit, step_);
}

// True: this step ran under a schedule or path that the one before did not have.
bool TrainingLoop::adapt(const StepVote& vote) {
  records_.run().restore_directory(step_);
  std::vector<resilience::AdaptationEvent> events;
  {
    const HostPhase phase(observation_.profile(), "adapt");
    if (parts_.adaptation && peers_.share().is_usual())
      events = parts_.adaptation->finish_step(step_, observation_.pass_times(),
                                              {.path_failed = vote.path_failed,
                                               .has_events = vote.has_adaptation_events,
                                               .measures = watch_.wants_delays(step_)});
  }
  observation_.report(false);
  records_.adaptations(events);
  return std::any_of(events.begin(), events.end(), [](const resilience::AdaptationEvent& event) {
    return event.kind != resilience::AdaptationKind::straggler;
  });
}

// `times`: the step's, and its learning rate.
void TrainingLoop::record(const StepVote& vote, const io::TrainingMetrics& times,
                          FailSlowWatch::Step watched) {
  io::TrainingMetrics metrics = times;
  metrics.step = step_;
  metrics.microbatches.assign(batches_.shares().begin(), batches_.shares().end());
  metrics.loss = vote.loss;
  metrics.grad_norm = vote.grad_norm;
  metrics.tokens = peers_.step_tokens();
  metrics.tokens_per_second = static_cast<double>(metrics.tokens) / metrics.seconds;
  records_.training(metrics, vote.finite);
  watched.is_observed = observation_.is_observed();
  watched.load = batches_.load() * peers_.share().load();
  watched.reading = observation_.take_reading();
  if (parts_.adaptation) watched.delays = parts_.adaptation->delays();
  watch_.finish(metrics, watched);
  mitigator_.finish(metrics);
  if (vote.verdict == Verdict::suspend)
    end_reason_ = vote.signalled ? "signal" : vote.time_is_up ? "time_limit" : kRestart;
  ++step_;
  next_sample_ = peers_.next_sample();
  checkpoints_.record(has_steps_left() && end_reason_ == "completed");
  records_.refuse_divergence();
}

void TrainingLoop::checkpoint(const StepVote& vote) {
  if (!peers_.writes_checkpoints()) return;
  if (!vote.checkpoint_is_due && !checkpoints_.is_due(step_)) return;
  checkpoints_.start(parts_.replica.control(), step_, next_sample_);
  if (peers_.exist()) peers_.session().on_checkpoint();
}

void TrainingLoop::trace() {
  if (observation_.must_trace(step_ - 1)) write_trace();
}

void TrainingLoop::write_trace() {
  observation_.write_trace(
      peers_.exist() ? parts_.records_directory : std::filesystem::path(parts_.deck.run.output_dir),
      step_ - 1, checkpoints_.writing_since_s());
}

void TrainingLoop::validate() {
  if (const auto result = validation_.run(step_)) records_.validation(step_, *result);
}

void TrainingLoop::exclude_hosts() {
  comm::ControlGroup& control = parts_.replica.control();
  control.agree([&] {
    if (control.rank() == 0) app::exclude_hosts(parts_.deck.run.output_dir, excluded_hosts_);
  });
}

void TrainingLoop::log_open_adaptations() {
  if (parts_.adaptation) records_.adaptations(parts_.adaptation->own_last_events());
}

bool TrainingLoop::time_is_up() const {
  const double limit_s = parts_.deck.run.max_minutes * kSecondsPerMinute;
  return limit_s > 0 && steady_now_s() - parts_.started_s >= limit_s;
}

}  // namespace tenax::app
