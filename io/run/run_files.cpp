#include "io/run/run_files.hpp"

#include <chrono>
#include <cmath>

#include "io/deck/deck.hpp"
#include "io/run/metrics_lines.hpp"
#include "io/whole_file.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

/// Whether `text` says something of the first `steps_done` steps.
bool is_kept(std::string_view text, std::int64_t steps_done) {
  const auto line = metrics_line(text);
  return line && (line->is_validation ? line->step <= steps_done : line->step < steps_done);
}

std::string kept_lines(const std::string& text, std::int64_t steps_done) {
  std::string kept;
  if (steps_done == 0) return kept;
  for_each_line(text, [&](std::string_view line) {
    if (is_kept(line, steps_done)) kept += line;
  });
  return kept;
}

/// Returns the run's metrics file, which now has no line that a run continued after `steps_done` steps writes again.
fs::path rewound_metrics(const fs::path& run_directory, std::int64_t steps_done) {
  const std::string text = metrics_text(run_directory), kept = kept_lines(text, steps_done);
  if (kept != text) write_file_atomically(run_directory / "metrics.jsonl", kept);
  return run_directory / "metrics.jsonl";
}

}  // namespace

void write_resolved_deck(const Deck& deck) {
  write_file_atomically(fs::path(deck.run.output_dir) / "deck.toml", to_toml(deck));
}

double unix_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

EventsWriter::EventsWriter(const fs::path& run_directory, std::function<double()> clock)
    : lines_(run_directory / "events.jsonl"), clock_(std::move(clock)) {}

void EventsWriter::write(const RunEvent& event) {
  JsonObject line;
  line.add("time", std::round(clock_() * 1000) / 1000).add("step", event.step).add("event", event.name);
  if (event.replica) line.add("replica", *event.replica);
  if (event.rank) line.add("rank", *event.rank);
  if (!event.host.empty()) line.add("host", event.host);
  lines_.append(line.append(event.details).text());
}

MetricsWriter::MetricsWriter(const fs::path& run_directory, std::int64_t steps_done)
    : lines_(rewound_metrics(run_directory, steps_done)) {}

void MetricsWriter::training(const TrainingMetrics& metrics) {
  JsonObject line;
  line.add("step", metrics.step)
      .add("loss", metrics.loss)
      .add("grad_norm", metrics.grad_norm)
      .add("lr", metrics.lr)
      .add("tokens", metrics.tokens)
      .add("seconds", metrics.seconds)
      .add("tokens_per_second", metrics.tokens_per_second);
  if (metrics.replicas) line.add("replicas", *metrics.replicas);
  if (!metrics.microbatches.empty()) line.add("microbatches", metrics.microbatches);
  if (metrics.iteration_seconds) line.add("iteration_seconds", *metrics.iteration_seconds);
  if (metrics.is_masked) line.add("masked", true);
  lines_.append(line.text());
}

void MetricsWriter::validation(std::int64_t step, double validation_loss) {
  lines_.append(JsonObject().add("step", step).add("validation_loss", validation_loss).text());
}

}  // namespace tenax::io
