#include "app/training/step_observation.hpp"

namespace tenax::app {

StepObservation::StepObservation(const io::Deck& deck, parallel::Replica& replica,
                                 resilience::PipelineAdaptation* adaptation, kernels::Device& device)
    : deck_(deck), replica_(replica), adaptation_(adaptation), readings_(device) {
  observers_.add(profile_);
  observers_.add(pass_times_);
  follow_swap();
}

void StepObservation::follow_swap() {
  usual_observers_ = {};
  usual_observers_.add(observers_);
  if (adaptation_) usual_observers_.add(adaptation_->monitor());
}

// Every step may turn out to be the last, whose trace is kept; but steps that are launched as one graph cannot be observed, so
// there only the steps that the deck wants traced are.
void StepObservation::begin_step(std::int64_t step, bool wants_passes) {
  if (!first_step_) first_step_ = step;
  profile_ = StepProfile(replica_.pipeline().planned_row());
  profiled_ = replica_.coordinates();
  is_observed_ =
      !deck_.device.cuda_graph || wants_passes || step + 1 == deck_.run.train_steps || must_trace(step);
}

parallel::ScheduleObserver* StepObservation::passes(bool is_usual) {
  if (!is_observed_) return nullptr;
  return is_usual ? &usual_observers_ : &observers_;
}

void StepObservation::take_pass_times() {
  if (is_observed_) last_pass_times_ = pass_times_.take();
}

std::optional<kernels::DeviceReading> StepObservation::take_reading() {
  const std::optional<TimedReading> taken = readings_.take();
  return taken ? std::optional(taken->reading) : std::nullopt;
}

bool StepObservation::must_trace(std::int64_t step) const {
  constexpr std::int64_t kTenth = 9;
  const std::int64_t interval = deck_.run.profile_interval;
  return interval > 0 ? (step + 1) % interval == 0 : step - first_step_.value_or(step) == kTenth;
}

void StepObservation::write_trace(const std::filesystem::path& directory, std::int64_t step,
                                  std::optional<double> writing_since_s) {
  using parallel::PhaseRecord;
  replica_.report(&profile_, true);
  StepProfile profile = profile_;
  profile.set_pass_times(last_pass_times_);
  if (const auto last = readings_.last()) profile.set_reading(*last);
  if (writing_since_s)
    profile.on_phase({PhaseRecord::Where::background, "checkpoint write, goes on", *writing_since_s,
                      kernels::steady_now_s()});
  trace_failure_ = app::write_trace(directory / "trace.json", step, profile, profiled_, replica_.control());
}

}  // namespace tenax::app
