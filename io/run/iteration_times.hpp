// The iteration times that files hold: tables, a run's metrics.jsonl, run directories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace tenax::io {

/// What an iteration begins, for who follows the level of iteration times.
enum class LevelBegin {
  none,
  own_action,  ///< the run had changed its paths, its schedule or its members
  start,       ///< a program that knows nothing of the iterations before
};

struct IterationTime {
  std::int64_t iteration = 0;  ///< increases from one to the next; some may be missing
  double seconds = 0;          ///< finite and > 0
  bool is_masked = false;      ///< says nothing of the machine, as while a checkpoint was saved
  LevelBegin begins = LevelBegin::none;
};

using IterationTimes = std::vector<IterationTime>;

// All throw Error(rank): "FILE:LINE: …" for a line that is wrong, "FILE: …" for a file that cannot
// be read.

/// Of a run directory (`path` is one): its metrics.jsonl and what its events say. Of a file as
/// parse_iteration_csv() or parse_iteration_metrics(), whichever it is.
IterationTimes read_iteration_times(const std::filesystem::path& path);

/// CSV with a header that names `iteration` and `seconds`, and perhaps `masked` (0 or 1); other
/// columns, empty lines and lines that begin with # are ignored. `file`: for messages.
IterationTimes parse_iteration_csv(const std::filesystem::path& file, std::string_view text);

/// metrics.jsonl: `step`, and `iteration_seconds` or else `seconds`; `masked` where it is true.
/// Lines of validations are ignored. In a run directory (`is_run`) so is a last line without its
/// end, which is being written or was torn, and a step of 0 seconds: a supervisor does not know what
/// its first one takes.
IterationTimes parse_iteration_metrics(const std::filesystem::path& file, std::string_view text, bool is_run);

/// The first line of a file that is neither empty nor begins with #.
std::string_view first_line(std::string_view text);

/// The file's text. Throws Error(rank) "FILE: …".
std::string read_iteration_text(const std::filesystem::path& file);

/// Adds `next` to `times`. What is wrong with it; empty if nothing.
std::string add_iteration(IterationTimes& times, const IterationTime& next);

/// Throws Error(rank) "FILE:LINE: FAULT" unless `fault` is empty.
void check_line(const std::filesystem::path& file, std::size_t line, const std::string& fault);

}  // namespace tenax::io
