#include "app/training/loop_runner.hpp"

#include "app/options.hpp"
#include "app/training/banner.hpp"
#include "app/training/start_elsewhere.hpp"
#include "app/units.hpp"
#include "io/json.hpp"
#include "io/run/run_series.hpp"
#include "resilience/adaptation/pipeline_adaptation.hpp"

namespace tenax::app {

namespace {

// Which of a host's devices it is.
std::string label_of(const kernels::Device& device) {
  switch (device.kind()) {
    case kernels::DeviceKind::cuda:
      return "cuda " + device.bus_id();
    case kernels::DeviceKind::emulated:
      return "emulated";
    case kernels::DeviceKind::cpu:
      break;
  }
  return "cpu";
}

/// Of the last event: all 0 where nothing is detected.
io::JsonObject figures_of(const TrainingLoop& loop) {
  io::JsonObject figures;
  figures.add("tracking_share", loop.tracking_share())
      .add("lost_seconds", loop.lost_s())
      .add("mitigation_seconds", loop.mitigation_s());
  return figures;
}

}  // namespace

parallel::EmulatedReplica::Options emulated_replica_options(const io::Deck& deck) {
  return {.load = emulated_load(deck), .optimizer_s = kSecondsPerMs * deck.device.optimizer_ms};
}

TrainingParts LoopRunner::parts(parallel::Replica& replica, const parallel::PipelineContext& context,
                                RunState& state, RunMachine& machine) const {
  return {.deck = rank_.deck(),
          .replica = replica,
          .context = context,
          .probe = machine.create_probe(),
          .injector = machine.injector(),
          .compute_faults = machine.compute_faults(),
          .sample_offset = state.sample_offset(),
          .lock = state.lock(),
          .place = {.host = rank_.world().host(), .device = label_of(machine.device())},
          .device = machine.device(),
          .path_news = machine.path_news(),
          .signals = signals_,
          .console = rank_.console(),
          .machine_flop_per_second = machine.flop_per_second(),
          .started_s = started_s_,
          .judges_times = machine.judges_times()};
}

Epilogue LoopRunner::run(TrainingParts parts, const parallel::PipelineContext& context,
                         std::int64_t first_step) {
  std::optional<resilience::PipelineAdaptation> adaptation;
  resilience::AdaptationSettings settings = adaptation_settings(rank_.deck());
  settings.answers = resilience::PipelineAdaptation::is_needed(parts.replica, settings);
  const bool looks_for_slow_links = parts.probe && parts.replica.layout().grid.pipeline > 1;
  const auto adapt = [&] { adaptation.emplace(parts.replica, context, settings); };
  if (settings.answers || looks_for_slow_links) {
    adapt();
    if (parts.swap) parts.swap->then(adapt);
  }
  parts.adaptation = adaptation ? &*adaptation : nullptr;
  begin(first_step);
  TrainingLoop loop(parts, first_step);
  const std::string reason = run(loop);
  if (reason == kRestart) status_ = kRestartStatus;
  record_end(loop, reason);
  return closing(loop.steps_done(), reason);
}

// The reason of the end.
std::string LoopRunner::run(TrainingLoop& loop) {
  try {
    return loop.run();
  } catch (const std::exception&) {
    begin(loop.steps_done());
    figures_ = figures_of(loop);
    try {  // alone: the others may be gone. The first error says more than one about these events.
      if (rank_.is_first()) loop.log_open_adaptations();
    } catch (const kernels::Error&) {
    }
    throw;
  }
}

void LoopRunner::record_end(const TrainingLoop& loop, const std::string& reason) {
  rank_.on_first([&] {
    io::JsonObject details;
    details.add("reason", reason).append(figures_of(loop));
    rank_.write_event("end", loop.steps_done(), details);
  });
  unended_steps_.reset();
}

// A rank that fails alone tells of it; another one may have done so.
void LoopRunner::record_failure(const std::string& message) const {
  if (!unended_steps_) return;
  try {
    const auto last = io::last_event(rank_.records_directory());
    if (last && last->event == "end") return;
    io::JsonObject details;
    details.add("reason", "failed").add("error", message).append(figures_);
    rank_.write_event("end", *unended_steps_, details);
  } catch (const kernels::Error&) {  // the message says more than one about this event
  }
}

Epilogue LoopRunner::closing(std::int64_t steps, const std::string& reason) const {
  if (!rank_.is_first()) return {};
  const auto lines = [deck = rank_.deck(), steps, reason] { write_closing_lines(deck, steps, reason); };
  if (reason == "completed") return lines;
  lines();  // now: mpirun kills ranks that it has asked to stop a second later, be it in MPI_Finalize
  return {};
}

}  // namespace tenax::app
