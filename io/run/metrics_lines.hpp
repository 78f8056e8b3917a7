// What metrics.jsonl tells of a run without all of its numbers: a run that goes on reads all of its
// lines before it does anything else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tenax::io {

struct MetricsLine {
  std::int64_t step = 0;       ///< of a validation: the steps done before it
  bool is_validation = false;  ///< else a training step
};

/// Nothing where `line`, with its line end, is none of metrics.jsonl. Lines as MetricsWriter writes
/// them are not parsed whole.
std::optional<MetricsLine> metrics_line(std::string_view line);

/// A run directory's, whole; empty where there is none. Throws Error(rank) where it cannot be read.
std::string metrics_text(const std::filesystem::path& run_directory);

/// Calls take(line) for each line of `text` that has its end, which is part of it.
template <class Take>
void for_each_line(std::string_view text, Take take) {
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin)) {
    take(text.substr(begin, end + 1 - begin));
    begin = end + 1;
  }
}

struct RecordedMetrics {
  std::int64_t steps = 0;              ///< up to the last training step
  std::set<std::int64_t> validations;  ///< by the steps done before
};

/// Throws as metrics_text().
RecordedMetrics recorded_metrics(const std::filesystem::path& run_directory);

}  // namespace tenax::io
