#include "io/run/run_summary.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <vector>

#include "io/deck/deck.hpp"
#include "io/json_parse.hpp"
#include "io/run/replica_summary.hpp"
#include "io/run/run_series.hpp"
#include "io/text.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The objects of a .jsonl file; a torn last line of a killed run is left out.
std::vector<json> read_lines(const fs::path& file) {
  std::vector<json> objects;
  for_each_json_line(file, [&](const json& object) { objects.push_back(object); });
  return objects;
}

/// The last object for which `is_it`.
template <class Test>
std::optional<json> last_of(const std::vector<json>& objects, const Test& is_it) {
  const auto found = std::find_if(objects.rbegin(), objects.rend(), is_it);
  if (found == objects.rend()) return {};
  return *found;
}

/// Strings without quotes, everything else as JSON.
std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string time_text(const json& event) {
  const auto found = event.find("time");
  if (found == event.end() || !found->is_number()) return {};
  constexpr double kYear10000 = 253402300800;
  const double time = found->get<double>();
  if (!(time >= 0 && time < kYear10000)) return {};
  const auto seconds = static_cast<std::time_t>(time);
  std::tm utc{};
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&seconds, &utc));
  return text;
}

std::string field(const json& object, const char* key) {
  return object.contains(key) ? value_text(object[key]) : std::string("?");
}

bool is_event(const json& event, const char* name) { return event.value("event", json()) == name; }

std::string ending(const std::vector<json>& events) {
  const auto last = last_of(events, [](const json& e) {
    return is_event(e, "end") || is_event(e, "start") || is_event(e, "resume") || is_event(e, "launch");
  });
  if (!last) return listed("ended", "nothing is recorded");
  if (!is_event(*last, "end"))
    return listed("ended", "no: it is running or was killed; began " + time_text(*last));
  std::string text = listed(
      "ended", field(*last, "reason") + " after step " + field(*last, "step") + ", " + time_text(*last));
  for (const char* detail : {"message", "error", "sentence"}) {
    if (last->contains(detail)) text += listed(detail, field(*last, detail));
  }
  return text;
}

std::string last_metrics(const fs::path& directory) {
  const std::vector<json> lines = read_lines(directory / "metrics.jsonl");
  std::string text;
  if (const auto training = last_of(lines, [](const json& l) { return l.contains("loss"); })) {
    text += listed("last step", field(*training, "step") + ": loss " + field(*training, "loss") +
                                    ", gradient norm " + field(*training, "grad_norm") + ", " +
                                    field(*training, "tokens_per_second") + " tokens/s");
  }
  if (const auto validation = last_of(lines, [](const json& l) { return l.contains("validation_loss"); })) {
    text += listed("last validation", "loss " + field(*validation, "validation_loss") + " after step " +
                                          field(*validation, "step"));
  }
  return text.empty() ? listed("last step", "none") : text;
}

std::string counted(const char* name, std::int64_t n) {
  if (n == 0) return {};
  return listed(name, std::to_string(n) + (n == 1 ? " time" : " times"));
}

/// What the run, or its supervisor, tells of itself, and what each replica found out alone.
std::string counted_events(const fs::path& directory) {
  const std::vector<EventLine> events = read_events(directory);
  const auto times = [&](const char* name, bool with_replicas) {
    return std::count_if(events.begin(), events.end(), [&](const EventLine& line) {
      return line.event == name && (with_replicas || !line.is_of_replica);
    });
  };
  std::string text;
  for (const char* name : {"checkpoint_failed", "skip", "repeat", "void", "wait"})
    text += counted(name, times(name, false));
  for (const char* name : {"straggler", "reschedule", "onset", "relief", "validation", "fail_slow", "healed",
                           "mitigate", "revert", "port", "reroute"})
    text += counted(name, times(name, true));
  return text;
}

std::string checkpoints(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && name.ends_with(".h5")) names.push_back(name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  std::string text;
  for (const std::string& name : names) text += listed(text.empty() ? "checkpoints" : "", name);
  return text.empty() ? listed("checkpoints", "none in " + directory.string()) : text;
}

}  // namespace

fs::path checkpoint_directory_of_run(const fs::path& run) {
  std::string text;
  read_text_file(run / "deck.toml", text);
  try {
    const Deck deck = parse_resolved_deck(text);
    const fs::path stated = deck.checkpoint.dir, inside = stated.lexically_relative(deck.run.output_dir);
    if (!inside.empty() && *inside.begin() != "..") return (run / inside).lexically_normal();
    std::error_code none;
    if (fs::is_directory(stated, none)) return stated;
  } catch (const kernels::Error&) {  // absent, or of another version
  }
  return run / "checkpoints";
}

std::string summarise_run(const fs::path& directory) {
  std::error_code none;
  if (!fs::exists(directory / "events.jsonl", none) && !fs::exists(directory / "deck.toml", none)) {
    throw kernels::Error(
        kernels::Scope::rank,
        directory.string() + " is not a run directory: it has neither events.jsonl nor deck.toml");
  }
  const std::vector<json> events = read_lines(directory / "events.jsonl");
  return directory.string() + ": a run of tenax\n" + ending(events) + last_metrics(directory) +
         counted_events(directory) + summarise_replicas(directory) +
         checkpoints(checkpoint_directory_of_run(directory));
}

}  // namespace tenax::io
