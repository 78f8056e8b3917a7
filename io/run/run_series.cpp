#include "io/run/run_series.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>

#include "io/json_parse.hpp"
#include "kernels/number_text.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

double number_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// "link 1-2" of the two numbers in the member `name`; empty where it is anything else.
std::string pair_in(const json& object, const char* name, const char* what) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->size() != 2) return {};
  if (!found->at(0).is_number() || !found->at(1).is_number()) return {};
  return std::string(what) + " " + std::to_string(found->at(0).get<std::int64_t>()) + "-" +
         std::to_string(found->at(1).get<std::int64_t>());
}

void append(std::string& text, const std::string& more) {
  if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
}

/// What an event, or a component that has become slow, says of its place.
std::string place_of(const json& object) {
  const std::string link = pair_in(object, "stages", "link");
  if (!link.empty()) return link;
  std::string place;
  for (const std::string name : {"replica", "stage", "rank"})
    if (const auto found = object.find(name); found != object.end() && found->is_number())
      append(place, name + " " + std::to_string(found->get<std::int64_t>()));
  append(place, pair_in(object, "ranks", "link of ranks"));
  if (const auto components = object.find("components"); components != object.end())
    for (const json& component : *components)
      if (component.is_object()) append(place, place_of(component));
  return place;
}

/// What a replica found: event, step and replica. The supervisor has it from the replica, and writes it too.
using Finding = std::tuple<std::string, std::int64_t, int>;

/// `told`: what the supervisor has written, which is read first.
void add_events(const fs::path& file, std::optional<int> replica, std::set<Finding>& told,
                std::vector<EventLine>& events) {
  for_each_json_line(file, [&](const json& object) {
    if (!object.contains("event")) return;
    EventLine line;
    line.is_of_replica = replica.has_value();
    line.time_s = number_in(object, "time");
    line.step = object.value("step", json()).is_number() ? object["step"].get<std::int64_t>() : 0;
    line.event = text_of(object["event"]);
    if (replica && told.contains({line.event, line.step, *replica})) return;
    if (!replica && object.value("replica", json()).is_number_integer())
      told.insert({line.event, line.step, object["replica"].get<int>()});
    line.reason = object.contains("reason") ? text_of(object["reason"]) : "";
    line.place = place_of(object);
    if (replica) line.details = "of replica " + std::to_string(*replica);
    for (const auto& [name, value] : object.items()) {
      if (name == "time" || name == "step" || name == "event") continue;
      line.details += (line.details.empty() ? "" : ", ") + name + " " + text_of(value);
    }
    events.push_back(std::move(line));
  });
}

/// Those that have left a folder. One that was given up may lack it, or its events.
std::set<int> replicas_in(const fs::path& run_directory) {
  constexpr std::string_view kFolder = "replica-";
  std::set<int> replicas;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run_directory, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFolder)) continue;
    if (const auto replica = kernels::number_of<int>(name.substr(kFolder.size()))) replicas.insert(*replica);
  }
  return replicas;
}

}  // namespace

RunSeries read_series(const fs::path& run_directory) {
  RunSeries series;
  for_each_json_line(run_directory / "metrics.jsonl", [&](const json& line) {
    if (line.contains("validation_loss")) {
      series.validation_step.push_back(number_in(line, "step"));
      series.validation_loss.push_back(number_in(line, "validation_loss"));
    } else if (line.contains("loss")) {
      series.step.push_back(number_in(line, "step"));
      series.loss.push_back(number_in(line, "loss"));
      series.grad_norm.push_back(number_in(line, "grad_norm"));
      series.lr.push_back(number_in(line, "lr"));
      series.seconds.push_back(number_in(line, "seconds"));
      series.tokens_per_second.push_back(number_in(line, "tokens_per_second"));
      series.replicas.push_back(number_in(line, "replicas"));
      const double tokens = number_in(line, "tokens");
      const double before = series.tokens_seen.empty() ? 0 : series.tokens_seen.back();
      series.tokens_seen.push_back(before + (tokens > 0 ? tokens : 0));
    }
  });
  return series;
}

std::vector<EventLine> read_events(const fs::path& run_directory) {
  std::vector<EventLine> events;
  std::set<Finding> told;
  add_events(run_directory / "events.jsonl", {}, told, events);
  for (const int replica : replicas_in(run_directory))
    add_events(run_directory / ("replica-" + std::to_string(replica)) / "events.jsonl", replica, told,
               events);
  std::stable_sort(events.begin(), events.end(),
                   [](const EventLine& a, const EventLine& b) { return a.time_s < b.time_s; });
  return events;
}

std::optional<EventSummary> last_event(const std::filesystem::path& run_directory) {
  std::optional<EventSummary> last;
  for_each_json_line(run_directory / "events.jsonl", [&](const nlohmann::json& event) {
    const auto step = event.find("step");
    const bool is_counted = step != event.end() && step->is_number_integer();
    last = {text_in(event, "event"), text_in(event, "reason"), is_counted ? step->get<std::int64_t>() : 0};
  });
  return last;
}

bool tells_of_checkpoints(const std::filesystem::path& run_directory) {
  bool tells = false;
  for_each_json_line(run_directory / "events.jsonl", [&](const json& line) {
    const std::string event = text_in(line, "event");
    if (event == "start") tells = false;
    if (event == "checkpoint" || event == "resume") tells = true;
  });
  return tells;
}

}  // namespace tenax::io
