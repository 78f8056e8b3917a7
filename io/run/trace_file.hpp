// Reads trace.json back: the work of each rank in the profiled step. Plain data; parallel/ knows
// the names' meaning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenax::io {

/// A pass ("F3", category "F") or a transfer ("send activation 3", category "transfer").
struct TraceOp {
  std::string name, category;
  int microbatch = 0;
  double start_us = 0, duration_us = 0;  ///< from the step's first event
};

struct TraceRank {
  int rank = 0, stage = 0, data = 0, tensor = 0;
  std::string planned;       ///< "F0 F1 B0 …": the order the rank was to run
  std::vector<TraceOp> ops;  ///< by start; without collectives, optimizer, …
};

struct TraceFile {
  std::int64_t step = 0;
  std::vector<TraceRank> ranks;  ///< by number
};

/// Throws Error(rank) that names the file if it cannot be read or is not of tenax's form.
TraceFile read_trace(const std::filesystem::path& file);

}  // namespace tenax::io
