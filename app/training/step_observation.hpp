// StepObservation: who is told of what this rank does in a step, and the trace that is kept of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "app/training/device_readings.hpp"
#include "app/training/profile.hpp"
#include "io/deck/deck.hpp"
#include "parallel/execution/step_observer.hpp"
#include "parallel/replica/replica.hpp"
#include "resilience/adaptation/pass_times.hpp"
#include "resilience/adaptation/pipeline_adaptation.hpp"

namespace tenax::app {

/// All that it is made of outlives it. `adaptation` is null where the pipeline never changes.
class StepObservation {
 public:
  StepObservation(const io::Deck& deck, parallel::Replica& replica,
                  resilience::PipelineAdaptation* adaptation, kernels::Device& device);
  /// Of all steps from now on. It must outlive this.
  void add(parallel::StepObserver& observer) { observers_.add(observer); }
  /// After a swap of ranks, with which the adaptation has begun anew.
  void follow_swap();

  /// `wants_passes`: somebody needs this step's passes, whatever that costs.
  void begin_step(std::int64_t step, bool wants_passes);
  /// Of the step under way: somebody is told of its passes.
  bool is_observed() const { return is_observed_; }
  /// For its passes; null where nobody is told. `is_usual`: they may teach the adaptation.
  parallel::ScheduleObserver* passes(bool is_usual);
  /// Once the step's passes have been told.
  void take_pass_times();
  /// The step's passes have been launched: its device is to tell of itself meanwhile, and what it told since.
  void read_device() { readings_.ask(); }
  std::optional<kernels::DeviceReading> take_reading();
  /// Tells what is complete by now; with `waits`, all that was launched.
  void report(bool waits) { replica_.report(&observers_, waits); }

  const resilience::PassMeasurement& pass_times() const { return last_pass_times_; }
  StepProfile& profile() { return profile_; }

  /// The deck wants a trace of this step, which is not the last. The last one's is kept as well, but
  /// nobody may know of it before it has run; so a run that is killed leaves a trace.
  bool must_trace(std::int64_t step) const;
  /// Collective: rank 0 writes `directory`/trace.json of the step that was begun last.
  /// `writing_since_s`: since when a checkpoint is being written.
  void write_trace(const std::filesystem::path& directory, std::int64_t step,
                   std::optional<double> writing_since_s);
  /// Why rank 0 could not write the last one; empty where it could.
  const std::string& trace_failure() const { return trace_failure_; }

 private:
  const io::Deck& deck_;
  parallel::Replica& replica_;
  resilience::PipelineAdaptation* adaptation_;
  std::optional<std::int64_t> first_step_;  // that was begun
  StepProfile profile_;
  parallel::GridCoordinates profiled_;  // where this rank was in that step
  resilience::PassTimes pass_times_;
  resilience::PassMeasurement last_pass_times_;
  parallel::StepObservers observers_;
  parallel::StepObservers usual_observers_;  // observers_, and the adaptation's
  bool is_observed_ = true;
  std::string trace_failure_;
  DeviceReadings readings_;
};

}  // namespace tenax::app
