// Writes the files of a run directory: metrics.jsonl, events.jsonl, deck.toml. One rank does so.
// Failures are Error(rank) that name file and reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/json.hpp"
#include "io/run/line_file.hpp"

namespace tenax::io {

struct Deck;

/// Writes the resolved deck to output_dir/deck.toml, atomically.
void write_resolved_deck(const Deck& deck);
/// UNIX time by the system's clock.
double unix_time_s();

struct TrainingMetrics {
  std::int64_t step = 0;  ///< from 0
  double loss = 0;        ///< nats; not-a-number where there is none
  double grad_norm = 0, lr = 0;
  std::int64_t tokens = 0;
  double seconds = 0, tokens_per_second = 0;
  std::optional<std::int64_t> replicas = {};  ///< that contributed, in a run of replicas
  /// Without what is done between steps: from the step's begin to the end of its update.
  std::optional<double> iteration_seconds = {};
  std::vector<std::int64_t> microbatches = {};  ///< of each data rank, where they differ
  bool is_masked = false;  ///< its time says nothing of the machine: a checkpoint was being written, …
};

/// metrics.jsonl: one line for each training step or validation. A line is one write(2). Used by
/// one thread.
class MetricsWriter {
 public:
  /// Continues the file after `steps_done` steps. First drops the lines that will be written again:
  /// training lines of steps ≥ steps_done, validation lines of more than steps_done steps, and a
  /// torn last line. With steps_done = 0 the file starts empty.
  MetricsWriter(const std::filesystem::path& run_directory, std::int64_t steps_done);
  void training(const TrainingMetrics& metrics);
  /// `step`: the number of steps done before the validation.
  void validation(std::int64_t step, double validation_loss);
  LineFile& file() { return lines_; }

 private:
  LineFile lines_;
};

struct RunEvent {
  std::int64_t step = 0;
  std::string name;  ///< "start", "checkpoint", …
  std::optional<std::int64_t> replica, rank;
  std::string host;    ///< empty where it does not apply
  JsonObject details;  ///< more members
};

/// events.jsonl: one line for each event. A resumed run appends. Used by one thread.
class EventsWriter {
 public:
  explicit EventsWriter(const std::filesystem::path& run_directory,
                        std::function<double()> clock = unix_time_s);
  void write(const RunEvent& event);
  LineFile& file() { return lines_; }

 private:
  LineFile lines_;
  std::function<double()> clock_;
};

}  // namespace tenax::io
