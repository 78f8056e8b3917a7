// Reads a run directory's metrics.jsonl and events.jsonl back, for pictures and to tell how a run
// ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenax::io {

/// The columns of metrics.jsonl, of equal length. A null in the file is not-a-number.
struct RunSeries {
  std::vector<double> step, loss, grad_norm, lr, seconds, tokens_per_second;
  std::vector<double> tokens_seen;  ///< by the end of each step
  /// That contributed to each step; not-a-number in a run without a supervisor.
  std::vector<double> replicas;
  std::vector<double> validation_step, validation_loss;
};

struct EventLine {
  double time_s = 0;           ///< UNIX time
  bool is_of_replica = false;  ///< a replica wrote it; false: the run, or its supervisor
  std::int64_t step = 0;
  std::string event;
  std::string reason;  ///< why the run ended, where event is "end"
  /// "link 1-2" (stages), "stage 1", "replica 2, rank 5", "link of ranks 3-7"; of several components
  /// each; empty for the whole run.
  std::string place;
  std::string details;  ///< the other members, as "name value, name value"
};

/// Both skip lines that are not JSON, which a killed run may leave, and treat an absent file as
/// empty.
RunSeries read_series(const std::filesystem::path& run_directory);
/// The events of the run and of its replicas, by time; what a replica has told its supervisor is one line.
std::vector<EventLine> read_events(const std::filesystem::path& run_directory);

struct EventSummary {
  std::string event;   ///< "end", "checkpoint", …
  std::string reason;  ///< why the run ended, where event is "end"
  std::int64_t step = 0;
};

/// The last complete line of RUN_DIRECTORY/events.jsonl, if there is one.
std::optional<EventSummary> last_event(const std::filesystem::path& run_directory);
/// Whether events of the run since it last began at step 0 tell of checkpoints: written, or resumed from.
bool tells_of_checkpoints(const std::filesystem::path& run_directory);

}  // namespace tenax::io
