#include "io/run/launch_events.hpp"

#include <cmath>

#include "io/json_parse.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;

LaunchEvent event_of(const json& line) {
  LaunchEvent event{.event = text_in(line, "event"), .reason = text_in(line, "reason"), .numbers = {}};
  for (const auto& [name, value] : line.items())
    if (value.is_number()) event.numbers[name] = value.get<double>();
  const auto whole = [&](const char* name, std::int64_t otherwise) {
    const double value = event.numbers.contains(name) ? event.numbers[name] : std::nan("");
    return std::abs(value) < 1e15 ? static_cast<std::int64_t>(value) : otherwise;
  };
  event.time_s = event.number("time");
  event.step = whole("step", 0);
  event.replica = whole("replica", -1);
  event.incarnation = whole("incarnation", -1);
  return event;
}

}  // namespace

std::vector<LaunchEvent> read_launch_events(const std::filesystem::path& run_directory) {
  std::vector<LaunchEvent> events;
  for_each_json_line(run_directory / "events.jsonl",
                     [&](const json& line) { events.push_back(event_of(line)); });
  return events;
}

}  // namespace tenax::io
