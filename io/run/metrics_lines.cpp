#include "io/run/metrics_lines.hpp"

#include <algorithm>
#include <charconv>

#include "io/json_parse.hpp"
#include "io/whole_file.hpp"

namespace tenax::io {
namespace {

constexpr std::string_view kBegin = "{\"step\": ", kEnd = "}\n";

/// Of a line as MetricsWriter has it: the step comes first.
std::optional<std::int64_t> first_step(std::string_view line) {
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) return {};
  std::int64_t step = 0;
  const auto [end, failure] = std::from_chars(line.data() + kBegin.size(), line.data() + line.size(), step);
  if (failure != std::errc() || *end != ',') return {};
  return step;
}

}  // namespace

std::optional<MetricsLine> metrics_line(std::string_view line) {
  if (const auto step = first_step(line))
    return MetricsLine{*step, line.find("\"validation_loss\"") != std::string_view::npos};
  const auto object = parse_json(line).value;
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) return {};
  return MetricsLine{object["step"].get<std::int64_t>(), object.contains("validation_loss")};
}

std::string metrics_text(const std::filesystem::path& run_directory) {
  std::string text;
  const std::filesystem::path file = run_directory / "metrics.jsonl";
  const std::error_code failure = read_text_file(file, text);
  if (failure && failure != std::errc::no_such_file_or_directory) throw_file_error("read", file, failure);
  return text;
}

RecordedMetrics recorded_metrics(const std::filesystem::path& run_directory) {
  RecordedMetrics recorded;
  for_each_line(metrics_text(run_directory), [&](std::string_view whole) {
    const auto line = metrics_line(whole);
    if (!line) return;
    if (line->is_validation)
      recorded.validations.insert(line->step);
    else
      recorded.steps = std::max(recorded.steps, line->step + 1);
  });
  return recorded;
}

}  // namespace tenax::io
