#include "io/run/run_files.hpp"

#include <chrono>
#include <cmath>

#include "io/posix_file.hpp"
#include "io/text_file.hpp"

namespace tenax::io {
namespace {
namespace fs = std::filesystem;
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
