// TensorBoardWriter: a run's scalars as event files that TensorBoard reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "io/posix_file.hpp"
#include "io/run/run_files.hpp"

namespace tenax::io {

/// Writes RUNDIR/tensorboard/events.out.tfevents.…, one file for each start of the run. Scalars:
/// loss, grad_norm, lr, tokens_per_second and validation_loss, under the steps of metrics.jsonl.
/// Leaves out values that are not finite. Used by one thread. Failures are Error(rank) that name
/// file and reason.
class TensorBoardWriter {
 public:
  /// Continues after `steps_done` steps. First cuts off older files the records that will be
  /// written again (as MetricsWriter does) or that a crash tore. With steps_done = 0 removes the
  /// files.
  TensorBoardWriter(const std::filesystem::path& run_directory, std::int64_t steps_done);
  void training(const TrainingMetrics& metrics);
  /// `step`: the number of steps done before the validation.
  void validation(std::int64_t step, double validation_loss);

 private:
  void append(std::int64_t step, std::vector<std::pair<std::string_view, double>> scalars);

  PosixFile file_;
  std::int64_t end_ = 0;
};

}  // namespace tenax::io
