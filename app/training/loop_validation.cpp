#include "app/training/loop_validation.hpp"

#include <string>
#include <vector>

#include "io/run/metrics_lines.hpp"

namespace tenax::app {

using kernels::steady_now_s;

bool LoopValidation::is_due(std::int64_t steps_done) const {
  const std::int64_t interval = parts_.deck.run.eval_interval;
  return interval > 0 && steps_done % interval == 0;
}

bool LoopValidation::is_lacking(std::int64_t steps_done) const {
  if (parts_.peers.exist() || steps_done == 0 || !is_due(steps_done)) return false;
  comm::ControlGroup& control = parts_.replica.control();
  const auto answers = comm::agreed_answers(control, [&]() -> std::string {
    if (control.rank() != 0) return {};
    const io::RecordedMetrics recorded = io::recorded_metrics(parts_.deck.run.output_dir);
    return recorded.steps == steps_done && !recorded.validations.contains(steps_done) ? "lacks" : "";
  });
  return !answers[0].empty();
}

bool LoopValidation::run(std::int64_t steps_done) {
  broken_off_by_ = {};
  const double begin_s = steady_now_s();
  if (const auto loss = evaluate(steps_done))
    parts_.records.validation(steps_done, *loss, steady_now_s() - begin_s);
  if (parts_.peers.exist() && broken_off_by_.signalled) parts_.peers.session().ask_stop();
  return !broken_off_by_.any();
}

// Who stops it does not wait for more than the checkpoint, and the run is done.
void LoopValidation::run_last(std::int64_t steps_done) {
  if (run(steps_done)) return;
  const bool is_saved = parts_.deck.checkpoint.interval >= 0;
  parts_.console.warn(std::string("the validation after the last step was broken off") +
                      (is_saved ? "; tenax evaluate computes it from the checkpoint" : ""));
}

// The mean loss of a token, nats; nothing where there is none to find, or a stop breaks it off.
std::optional<double> LoopValidation::evaluate(std::int64_t steps_done) {
  const io::Deck& deck = parts_.deck;
  if (deck.data.validation.empty() || deck.run.eval_interval == 0 || last_ == steps_done) return {};
  const std::optional<double> sum = sum_of_batches();
  if (!sum) return {};
  last_ = steps_done;
  const auto tokens =
      static_cast<double>(deck.run.eval_steps * deck.batch.global_batch_size * deck.model.seq_length);
  return *sum / tokens;
}

std::optional<double> LoopValidation::sum_of_batches() {
  StepProfile& profile = parts_.observation.profile();
  const parallel::HostPhase phase(profile, "validation");
  parts_.replica.report(&profile, true);  // what is told below is not the step's
  const auto riders = [this] {
    const EarlyStop own = parts_.stop.wish();
    return std::vector<double>{own.signalled ? 1.0 : 0.0, own.time_is_up ? 1.0 : 0.0};
  };
  double sum = 0;
  const std::int64_t batches = parts_.deck.run.eval_steps;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const parallel::Replica::Evaluation evaluated =
        parts_.replica.evaluate(parts_.batches.validation(batch), riders);
    parts_.replica.report(nullptr, false);
    sum += evaluated.loss;
    const EarlyStop stop{.signalled = evaluated.riders[0] > 0, .time_is_up = evaluated.riders[1] > 0};
    if (!stop.any() || batch + 1 == batches) continue;
    broken_off_by_ = stop;
    return {};
  }
  return sum;
}

}  // namespace tenax::app
