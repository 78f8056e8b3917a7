// The iteration times that files hold: tables, a run's metrics.jsonl, run directories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tenax::io {

/// What an iteration begins, for who follows the level of iteration times.
enum class LevelBegin {
  none,
  own_action,  ///< the run had changed its paths, its schedule or its members
  other_work,  ///< each of its replicas computes more or less than before
  start,       ///< a program that knows nothing of the iterations before
};

struct IterationTime {
  std::int64_t iteration = 0;  ///< increases from one to the next; some may be missing
  double seconds = 0;          ///< finite and > 0
  bool is_masked = false;      ///< says nothing of the machine, as while a checkpoint was saved
  LevelBegin begins = LevelBegin::none;
};

using IterationTimes = std::vector<IterationTime>;

/// Of a run directory: its metrics.jsonl, and what its events say. Of a file: a table of iterations
/// (CSV) or a metrics.jsonl, whichever it is (iteration_text.hpp). Throws Error(rank): "FILE:LINE: …"
/// for a line that is wrong, "FILE: …" for a file that cannot be read.
IterationTimes read_iteration_times(const std::filesystem::path& path);

}  // namespace tenax::io
