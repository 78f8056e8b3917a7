#include "app/training_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "app/adaptation_text.hpp"
#include "app/learning_rate.hpp"
#include "app/units.hpp"

namespace tenax::app {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;
using parallel::HostPhase;
using parallel::PhaseRecord;

namespace {

constexpr int kMaxSkippedInARow = 10;

double seconds_since(Deadline::Clock::time_point begin) {
  return std::chrono::duration<double>(Deadline::Clock::now() - begin).count();
}

}  // namespace

TrainingLoop::TrainingLoop(TrainingParts parts, std::int64_t first_step)
    : parts_(parts), first_step_(first_step), step_(first_step), last_saved_(first_step) {
  global_tokens_ = parts_.deck.batch.global_batch_size * parts_.deck.model.seq_length;
  parts_.replica.control().agree([&] {
    if (!is_first_rank()) return;
    events_ = std::make_unique<io::EventsWriter>(parts_.deck.run.output_dir);
    metrics_ = std::make_unique<io::MetricsWriter>(parts_.deck.run.output_dir, first_step);
    if (parts_.deck.run.tensorboard)
      tensorboard_ = std::make_unique<io::TensorBoardWriter>(parts_.deck.run.output_dir, first_step);
  });
}

std::string TrainingLoop::run() {
  const io::Deck& deck = parts_.deck;
  while (step_ < deck.run.train_steps) {
    const bool stop = step();
    if (deck.run.eval_interval > 0 && step_ % deck.run.eval_interval == 0) evaluate();
    if (stop && step_ < deck.run.train_steps) break;
    end_reason_ = "completed";
    if (checkpoint_is_due() && step_ < deck.run.train_steps) checkpoint();
    if (is_profiled(step_ - 1) && step_ < deck.run.train_steps) write_profile();
  }
  if (end_reason_ == "completed") evaluate();
  write_profile();
  log_adaptations(parts_.replica.last_adaptations());
  final_checkpoint();
  agree_on_failures();
  return end_reason_;
}

// One training step. True if the run is to stop after it.
bool TrainingLoop::step() {
  const io::Deck& deck = parts_.deck;
  const auto begin = Deadline::Clock::now();
  profile_ = StepProfile(parts_.replica.planned_row());
  if (parts_.injector) parts_.injector->begin_step(step_);
  std::span<const std::int32_t> windows;
  if (parts_.training) {
    const HostPhase phase(profile_, "load data");
    windows = parts_.training->load(step_);
  }
  const double learning_rate = learning_rate_of_step(deck.optimizer, step_);
  const UpdateSettings settings{deck.optimizer, learning_rate, step_ + 1};
  const Vote vote = train_passes(windows, settings);
  if (vote.wishes.failure) agree_on_failures();
  checkpoint_time_ = vote.wishes.checkpoint;
  restore_run_directory();
  if (vote.finite) parts_.replica.update(settings, vote);
  const auto adaptations = [&] {
    const HostPhase phase(profile_, "adapt");
    return parts_.replica.adapt(step_, vote);
  }();
  parts_.replica.report(&profile_, false);
  record(vote, learning_rate, seconds_since(begin));
  log_adaptations(adaptations);
  ++step_;
  log_saves();
  if (skipped_in_a_row_ == kMaxSkippedInARow)
    throw comm::AgreedError(Scope::job,
                            format("%d steps in a row had a non-finite loss or gradient (the last was step "
                                   "%lld): the run has diverged; lower optimizer.lr or resume from an "
                                   "earlier checkpoint",
                                   kMaxSkippedInARow, static_cast<long long>(step_ - 1)));
  if (vote.wishes.signal)
    end_reason_ = "signal";
  else if (vote.wishes.time_limit)
    end_reason_ = "time_limit";
  return vote.wishes.signal || vote.wishes.time_limit;
}

// Passes and the vote on them, again if they turn out to be void.
Vote TrainingLoop::train_passes(std::span<const std::int32_t> windows, const UpdateSettings& settings) {
  while (true) {
    parts_.replica.compute_gradients(windows, settings, is_observed(step_) ? &profile_ : nullptr);
    const bool signalled = parts_.signals.requested(), late = time_is_up();
    const HostPhase phase(profile_, "vote");
    const Vote vote = parts_.replica.vote({.signal = signalled,
                                           .time_limit = late,
                                           .failure = !failure_.empty(),
                                           .checkpoint = checkpoint_time_has_come()});
    if (!vote.is_void) return vote;
  }
}

// Every step may turn out to be the last, whose trace is kept; but steps that are launched as one graph cannot be observed, so
// there only the steps that the deck wants profiled are.
bool TrainingLoop::is_observed(std::int64_t step) const {
  const io::Deck& deck = parts_.deck;
  if (!deck.device.cuda_graph) return true;
  return step + 1 == deck.run.train_steps || is_profiled(step);
}

// The last step apart, which nobody may know before it has run. So a run that is killed leaves a trace.
bool TrainingLoop::is_profiled(std::int64_t step) const {
  constexpr std::int64_t kTenth = 9;
  const std::int64_t interval = parts_.deck.run.profile_interval;
  return interval > 0 ? (step + 1) % interval == 0 : step - first_step_ == kTenth;
}

void TrainingLoop::write_profile() {
  parts_.replica.report(&profile_, true);
  StepProfile profile = profile_;
  profile.set_pass_times(parts_.replica.pass_times());
  if (writing_since_s_)
    profile.on_phase({PhaseRecord::Where::background, "checkpoint write, goes on", *writing_since_s_,
                      kernels::steady_now_s()});
  write_trace(std::filesystem::path(parts_.deck.run.output_dir) / "trace.json", step_ - 1, profile,
              parts_.replica.coordinates(), parts_.replica.control());
}

void TrainingLoop::record(const Vote& vote, double learning_rate, double seconds) {
  skipped_in_a_row_ = vote.finite ? 0 : skipped_in_a_row_ + 1;
  const io::TrainingMetrics metrics{step_,
                                    vote.loss,
                                    vote.grad_norm,
                                    learning_rate,
                                    global_tokens_,
                                    seconds,
                                    static_cast<double>(global_tokens_) / seconds};
  on_first_rank([&] {
    metrics_->training(metrics);
    if (tensorboard_) tensorboard_->training(metrics);
    if (!vote.finite)
      event(step_, "skip", io::JsonObject{}.add("loss", vote.loss).add("grad_norm", vote.grad_norm));
  });
  report(metrics);
}

void TrainingLoop::report(const io::TrainingMetrics& metrics) {
  const io::Deck& deck = parts_.deck;
  logged_seconds_ += metrics.seconds;
  ++logged_steps_;
  const double step_s = logged_seconds_ / static_cast<double>(logged_steps_);
  const double eta_s = step_s * static_cast<double>(deck.run.train_steps - metrics.step - 1);
  const double tokens_per_second = static_cast<double>(global_tokens_) / step_s;
  const double flop_per_second = tokens_per_second * parts_.replica.layout().config.flop_per_token();
  // What was measured at the start, beside whatever else ran then, may have been too little.
  parts_.machine_flop_per_second = std::max(parts_.machine_flop_per_second, flop_per_second);
  const StepReport line{metrics.step + 1,
                        deck.run.train_steps,
                        metrics.loss,
                        metrics.grad_norm,
                        metrics.lr,
                        tokens_per_second,
                        flop_per_second,
                        flop_per_second / parts_.machine_flop_per_second,
                        eta_s,
                        step_s,
                        parts_.replica.layout().has_data};
  if (line.step % deck.run.log_interval == 0 || line.step == line.train_steps) {
    parts_.console.report(line);
    logged_seconds_ = 0;
    logged_steps_ = 0;
  }
  parts_.console.progress(line);
}

// Mean loss over the first eval_steps global batches of the validation file, the same ones each time.
void TrainingLoop::evaluate() {
  const io::Deck& deck = parts_.deck;
  if (deck.data.validation.empty() || deck.run.eval_interval == 0 || last_validated_ == step_) return;
  const HostPhase phase(profile_, "validation");
  parts_.replica.report(&profile_, true);  // what is told below is not the step's
  double sum = 0;
  for (std::int64_t batch = 0; batch < deck.run.eval_steps; ++batch) {
    sum += parts_.replica.evaluate(parts_.validation ? parts_.validation->load(batch)
                                                     : std::span<const std::int32_t>{});
    parts_.replica.report(nullptr, false);
  }
  const double loss = sum / static_cast<double>(deck.run.eval_steps * global_tokens_);
  last_validated_ = step_;
  on_first_rank([&] {
    metrics_->validation(step_, loss);
    if (tensorboard_) tensorboard_->validation(step_, loss);
  });
  parts_.console.say(format("validation after %lld steps: loss %.5f, perplexity %.4g",
                            static_cast<long long>(step_), loss, std::exp(loss)));
}

// Rank 0's clock decides.
bool TrainingLoop::checkpoint_time_has_come() {
  constexpr double kSecondsPerMinute = 60;
  const io::CheckpointSection& section = parts_.deck.checkpoint;
  return is_first_rank() && section.interval == 0 && section.interval_minutes > 0 &&
         seconds_since(last_checkpoint_) >= section.interval_minutes * kSecondsPerMinute;
}

bool TrainingLoop::checkpoint_is_due() const {
  const std::int64_t interval = parts_.deck.checkpoint.interval;
  return checkpoint_time_ || (interval > 0 && step_ % interval == 0);
}

void TrainingLoop::checkpoint() {
  last_checkpoint_ = Deadline::Clock::now();
  if (!parts_.checkpoints) return;
  const double begin_s = kernels::steady_now_s();
  parts_.checkpoints->save_async(step_, io::to_toml(parts_.deck));
  const double snapshot_s = parts_.checkpoints->snapshot_begin_s(), now_s = kernels::steady_now_s();
  profile_.on_phase({PhaseRecord::Where::host, "wait for checkpoint", begin_s, snapshot_s});
  profile_.on_phase({PhaseRecord::Where::host, "checkpoint snapshot", snapshot_s, now_s});
  last_saved_ = step_;
  log_saves();
  writing_since_s_ = now_s;
}

// A run whose last checkpoint cannot be written has failed; earlier ones only warn.
void TrainingLoop::final_checkpoint() {
  if (!parts_.checkpoints) return;
  {
    const HostPhase phase(profile_, "wait for checkpoint");
    parts_.checkpoints->wait(Deadline::after_s(parts_.deck.comm.deadline_s * 10));
  }
  log_saves();
  if (parts_.deck.checkpoint.interval < 0) return;
  const resilience::SaveReport report = parts_.checkpoints->save(step_, io::to_toml(parts_.deck));
  log_save(report);
  if (!report.saved())
    throw comm::AgreedError(Scope::job, "the last checkpoint could not be written: " + report.failure);
  write_profile();  // with the checkpoint
}

void TrainingLoop::log_saves() {
  if (!parts_.checkpoints) return;
  while (const auto report = parts_.checkpoints->poll()) log_save(*report);
}

void TrainingLoop::log_save(const resilience::SaveReport& report) {
  writing_since_s_.reset();
  profile_.on_phase(
      {PhaseRecord::Where::background, "checkpoint write", report.end_s - report.seconds, report.end_s});
  on_first_rank([&] {
    io::JsonObject details;
    details.add("file", report.file.string());
    if (report.saved()) {
      event(report.step, "checkpoint", details.add("seconds", report.seconds).add("bytes", report.bytes));
      return;
    }
    if (step_ < parts_.deck.run.train_steps && end_reason_ == "completed")
      parts_.console.warn(format("the checkpoint of step %lld could not be written, training goes on: %s",
                                 static_cast<long long>(report.step), report.failure.c_str()));
    event(report.step, "checkpoint_failed", details.add("reason", report.failure));
  });
}

void TrainingLoop::log_adaptations(const std::vector<resilience::AdaptationEvent>& adaptations) {
  on_first_rank([&] {
    for (const resilience::AdaptationEvent& adaptation : adaptations) {
      event(adaptation.step, resilience::name_of(adaptation.kind), adaptation_details(adaptation));
      if (parts_.judges_times || adaptation.kind != resilience::AdaptationKind::straggler)
        parts_.console.say(adaptation_line(adaptation));
    }
  });
}

void TrainingLoop::event(std::int64_t step, const std::string& name, const io::JsonObject& details) {
  io::RunEvent entry;
  entry.step = step;
  entry.name = name;
  entry.details = details;
  events_->write(entry);
}

bool TrainingLoop::time_is_up() const {
  constexpr double kSecondsPerMinute = 60;
  const double limit_s = parts_.deck.run.max_minutes * kSecondsPerMinute;
  return limit_s > 0 && seconds_since(parts_.started) >= limit_s;
}

// Who removes or moves the directory of a run that goes on gets a new one, with all that was recorded so far.
void TrainingLoop::restore_run_directory() {
  on_first_rank([&] {
    if (parts_.lock->in_place() && metrics_->file().in_place() && events_->file().in_place()) return;
    const io::Deck& deck = parts_.deck;
    parts_.console.warn("something of " + deck.run.output_dir +
                        " was removed, but this run writes there: its files are made again");
    make_files_again();
  });
}

// More than once where somebody is still removing what has been made again.
void TrainingLoop::make_files_again() {
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) try {
      parts_.lock->renew();
      io::write_resolved_deck(parts_.deck);
      metrics_->file().restore();
      events_->file().restore();
      if (tensorboard_)
        tensorboard_ = std::make_unique<io::TensorBoardWriter>(parts_.deck.run.output_dir, step_);
      return;
    } catch (const Error&) {
      if (attempt == kAttempts || parts_.lock->in_place()) throw;
    }
}

void TrainingLoop::on_first_rank(const std::function<void()>& work) {
  if (!is_first_rank() || !failure_.empty()) return;
  try {
    work();
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

void TrainingLoop::agree_on_failures() {
  parts_.replica.control().agree([&] {
    if (!failure_.empty()) throw Error(Scope::rank, failure_);
  });
}

}  // namespace tenax::app
