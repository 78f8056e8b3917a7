// StepProfile: what this rank did in a step, and trace.json, the Chrome trace (Perfetto opens it)
// of all ranks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/training/device_readings.hpp"
#include "comm/control_group.hpp"
#include "parallel/execution/step_observer.hpp"
#include "parallel/layout/process_grid.hpp"
#include "resilience/adaptation/pipeline_measurement.hpp"

namespace tenax::app {

class StepProfile : public parallel::StepObserver {
 public:
  /// `planned`: the order that this rank was to run in the step.
  explicit StepProfile(std::vector<parallel::PipelineOp> planned = {}) : planned_(std::move(planned)) {}

  void on_pass(const parallel::PassRecord& record) override { passes_.push_back(record); }
  void on_transfer(const parallel::TransferRecord& record) override { transfers_.push_back(record); }
  void on_collective(const comm::CollectiveRecord& record) override { collectives_.push_back(record); }
  void on_phase(const parallel::PhaseRecord& record) override { phases_.push_back(record); }
  /// What this rank's passes took, for the label of its row.
  void set_pass_times(const resilience::PassMeasurement& times) { pass_times_ = times; }
  /// What its device told of itself: counters, and in the label.
  void set_reading(const TimedReading& reading) { reading_ = reading; }

  /// This rank's events, comma-separated Chrome trace objects: a track of passes and the optimizer,
  /// below it one of what the training thread did beside them, then collectives and messages on as
  /// many tracks as overlap, and an arrow for each message, from the pass that made it to the pass
  /// that used it.
  std::string trace_events(int rank, const parallel::GridCoordinates& coordinates) const;

 private:
  std::vector<parallel::PipelineOp> planned_;
  std::vector<parallel::PassRecord> passes_;
  std::vector<parallel::TransferRecord> transfers_;
  std::vector<comm::CollectiveRecord> collectives_;
  std::vector<parallel::PhaseRecord> phases_;
  resilience::PassMeasurement pass_times_;
  std::optional<TimedReading> reading_;
};

/// Collective: rank 0 writes `file` (complete or not at all) from all ranks' profiles of `step`. Returns why it could not,
/// which is no reason to end a run; else nothing.
std::string write_trace(const std::filesystem::path& file, std::int64_t step, const StepProfile& profile,
                        const parallel::GridCoordinates& coordinates, comm::ControlGroup& control);

}  // namespace tenax::app
