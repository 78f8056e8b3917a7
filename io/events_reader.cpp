#include "io/events_reader.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace tenax::io {

std::optional<EventSummary> last_event(const std::filesystem::path& run_directory) {
  std::ifstream file(run_directory / "events.jsonl");
  std::optional<EventSummary> last;
  for (std::string line; std::getline(file, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object()) continue;  // torn by a crash
    last = {event.value("event", ""), event.value("reason", ""), event.value("step", std::int64_t{0})};
  }
  return last;
}

}  // namespace tenax::io
