#include "app/training/loop_records.hpp"

#include <utility>

#include "app/training/adaptation_text.hpp"
#include "app/units.hpp"
#include "comm/control_group.hpp"

namespace tenax::app {

LoopRecords::LoopRecords(Options options, std::int64_t first_step)
    : options_(std::move(options)),
      run_(options_.peers ? RunRecords(options_.replica.control(), options_.deck, options_.records_directory,
                                       options_.console)
                          : RunRecords(options_.replica.control(), options_.deck, options_.lock,
                                       options_.console, first_step)),
      step_lines_(options_.deck, options_.replica.layout(), options_.console,
                  options_.machine_flop_per_second) {}

void LoopRecords::training(const io::TrainingMetrics& metrics, bool finite) {
  divergence_.add(metrics.step, finite);
  run_.training(metrics);
  iterations_s_ += *metrics.iteration_seconds;
  if (!finite)
    run_.event(metrics.step, "skip",
               io::JsonObject{}.add("loss", metrics.loss).add("grad_norm", metrics.grad_norm));
  step_lines_.report(metrics);
}

void LoopRecords::refuse_divergence() const {
  if (options_.peers) return;
  if (const auto complaint = divergence_.complaint())
    throw comm::AgreedError(kernels::Scope::job, *complaint);
}

void LoopRecords::observed(std::int64_t step, const std::string& name, const io::JsonObject& details) {
  run_.event(step, name, details);
  if (options_.peers) options_.peers->on_observed({.event = name, .step = step, .details = details.text()});
}

void LoopRecords::validation(std::int64_t steps_done, double loss, double seconds) {
  run_.validation(steps_done, loss);
  if (options_.peers) options_.peers->on_validated({.done = steps_done, .loss = loss, .seconds = seconds});
  options_.console.say(validation_line(options_.deck, steps_done, loss));
}

void LoopRecords::adaptations(const std::vector<resilience::AdaptationEvent>& events) {
  for (const resilience::AdaptationEvent& event : events) {
    run_.event(event.step, resilience::name_of(event.kind), adaptation_details(event));
    if (options_.judges_times || event.kind != resilience::AdaptationKind::straggler)
      options_.console.say(adaptation_line(event));
  }
}

}  // namespace tenax::app
