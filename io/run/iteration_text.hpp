// The texts that iteration times are read from, as read_iteration_times() does.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "io/run/iteration_times.hpp"

namespace tenax::io {

/// The file's text. Throws Error(rank) "FILE: …".
std::string read_iteration_text(const std::filesystem::path& file);

/// A line that says nothing: empty, or one that begins with #.
bool is_comment(std::string_view line);
/// The first line that is no comment; empty if there is none.
std::string_view first_line(std::string_view text);

// `file` is for messages: both throw Error(rank) "FILE:LINE: …".

/// CSV with a header that names `iteration` and `seconds`, and perhaps `masked` (0 or 1). Other
/// columns are ignored, and so are comments.
IterationTimes parse_iteration_csv(const std::filesystem::path& file, std::string_view text);

/// metrics.jsonl: `step`, and `iteration_seconds` or else `seconds`; `masked` where it is true.
/// Lines of validations are ignored. In a run directory (`is_run`) so is a last line without its
/// end, which is being written or was torn.
IterationTimes parse_iteration_metrics(const std::filesystem::path& file, std::string_view text, bool is_run);

/// Adds `next` to `times`. What is wrong with it; empty if nothing.
std::string add_iteration(IterationTimes& times, const IterationTime& next);

/// Throws Error(rank) "FILE:LINE: FAULT" unless `fault` is empty.
void check_line(const std::filesystem::path& file, std::size_t line, const std::string& fault);

}  // namespace tenax::io
