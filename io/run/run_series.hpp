// Reading a run directory's metrics.jsonl and events.jsonl back, for pictures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenax::io {

/// Of metrics.jsonl, aligned with each other; what the file has as null is not-a-number.
struct RunSeries {
  std::vector<double> step, loss, grad_norm, lr, seconds, tokens_per_second;
  std::vector<double> tokens_seen;  ///< by the end of each step
  std::vector<double> validation_step, validation_loss;
};

struct EventLine {
  double time_s = 0;  ///< UNIX time
  std::int64_t step = 0;
  std::string event;
  std::string reason;  ///< of "end"
  std::string
      place;  ///< "link 1-2" (between these stages), "stage 1" or "rank 5"; empty where it is of the whole run
  std::string details;  ///< the other members, as "name value, name value"
};

/// Lines that are no JSON (a run was killed) are passed over; a file that is absent gives nothing.
RunSeries read_series(const std::filesystem::path& run_directory);
/// Of the run and of its replicas, by time.
std::vector<EventLine> read_events(const std::filesystem::path& run_directory);

}  // namespace tenax::io
