#include "io/run_files.hpp"

#include <chrono>
#include <cmath>
#include <system_error>

#include "io/posix_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using kernels::Error;
using kernels::Scope;

[[noreturn]] void fail(const fs::path& directory, const std::string& what) {
  throw Error(Scope::rank, "run directory " + directory.string() + ": " + what +
                               "; make it writable or choose another with run.output_dir");
}

bool holds_run(const fs::path& directory) {
  std::error_code ignored;
  for (const char* name : {"deck.toml", "events.jsonl", "metrics.jsonl", "checkpoints"})
    if (fs::exists(directory / name, ignored)) return true;
  return false;
}

fs::path move_aside(const fs::path& directory) {
  std::error_code error;
  for (int number = 1;; ++number) {
    const fs::path target = directory.string() + "." + std::to_string(number);
    if (fs::symlink_status(target, error).type() != fs::file_type::not_found) continue;
    fs::rename(directory, target, error);
    if (error) fail(directory, "cannot move the old run to " + target.string() + ": " + error.message());
    return target;
  }
}

}  // namespace

void write_file_atomically(const fs::path& file, std::string_view text) {
  AtomicFile beside(file);
  beside.file().write(std::as_bytes(std::span(text.data(), text.size())), 0);
  beside.publish();
}

std::optional<fs::path> prepare_run_directory(const Deck& deck) {
  const fs::path directory = deck.run.output_dir;
  std::optional<fs::path> moved_to;
  if (deck.run.resume == "never" && holds_run(directory)) moved_to = move_aside(directory);
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail(directory, "cannot create: " + error.message());
  try {
    AtomicFile probe(directory / "deck.toml");
  } catch (const Error& unwritable) {
    fail(directory, unwritable.what());
  }
  return moved_to;
}

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

}  // namespace tenax::io
