#include "io/run/run_files.hpp"

#include <chrono>
#include <cmath>
#include <system_error>

#include "io/deck/deck.hpp"
#include "io/json_parse.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

/// Whether `line` says something of the first `steps_done` steps.
bool is_kept(std::string_view line, std::int64_t steps_done) {
  const auto object = parse_json(line).value;
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) return false;
  const auto step = object["step"].get<std::int64_t>();
  return object.contains("validation_loss") ? step <= steps_done : step < steps_done;
}

std::string kept_lines(const std::string& text, std::int64_t steps_done) {
  std::string kept;
  if (steps_done == 0) return kept;
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string_view line(text.data() + begin, end + 1 - begin);
    if (is_kept(line, steps_done)) kept += line;
    begin = end + 1;
  }
  return kept;
}

/// Returns `file`, which now has no line that a run continued after `steps_done` steps writes again.
fs::path rewound(const fs::path& file, std::int64_t steps_done) {
  std::string text;
  const std::error_code failure = read_text_file(file, text);
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw kernels::Error(kernels::Scope::rank, "cannot read " + file.string() + ": " + failure.message());
  const std::string kept = kept_lines(text, steps_done);
  if (kept != text) write_file_atomically(file, kept);
  return file;
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
    : lines_(rewound(run_directory / "metrics.jsonl", steps_done)) {}

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
  lines_.append(line.text());
}

void MetricsWriter::validation(std::int64_t step, double validation_loss) {
  lines_.append(JsonObject().add("step", step).add("validation_loss", validation_loss).text());
}

}  // namespace tenax::io
