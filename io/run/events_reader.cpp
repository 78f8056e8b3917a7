#include "io/run/events_reader.hpp"

#include "io/json_parse.hpp"

namespace tenax::io {

std::optional<EventSummary> last_event(const std::filesystem::path& run_directory) {
  std::optional<EventSummary> last;
  for_each_json_line(run_directory / "events.jsonl", [&](const nlohmann::json& event) {
    const auto step = event.find("step");
    const bool is_counted = step != event.end() && step->is_number_integer();
    last = {text_in(event, "event"), text_in(event, "reason"), is_counted ? step->get<std::int64_t>() : 0};
  });
  return last;
}

}  // namespace tenax::io
