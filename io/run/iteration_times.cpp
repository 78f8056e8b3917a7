#include "io/run/iteration_times.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "io/json_parse.hpp"
#include "io/run/iteration_text.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Events of the run itself after which an iteration takes what it takes for another reason.
constexpr std::array kOwnActions{"reschedule", "delegate", "direct", "replica_lost", "replica_join"};

IterationTimes::iterator first_from(IterationTimes& times, std::int64_t iteration) {
  return std::lower_bound(times.begin(), times.end(), iteration,
                          [](const IterationTime& time, std::int64_t i) { return time.iteration < i; });
}

/// A checkpoint of `step` steps is written in the background, while the next ones run.
void mask_saving(IterationTimes& times, std::int64_t step, double seconds) {
  double elapsed_s = 0;
  for (auto time = first_from(times, step); time != times.end() && elapsed_s <= seconds; ++time) {
    time->is_masked = true;
    elapsed_s += time->seconds;
  }
}

/// Decided after `step`: the next iteration is the first under it, and has what the change itself costs.
void begin_own_level(IterationTimes& times, std::int64_t step) {
  auto time = first_from(times, step);
  if (time != times.end() && time->iteration == step) (time++)->is_masked = true;
  if (time == times.end()) return;
  time->is_masked = true;
  if (time->begins == LevelBegin::none) time->begins = LevelBegin::own_action;
}

void take_event(const json& event, IterationTimes& times) {
  const std::string name = text_in(event, "event");
  const auto found = event.find("step");
  if (found == event.end() || !found->is_number_integer()) return;
  const auto step = found->get<std::int64_t>();
  if (name == "start" || name == "resume") {
    if (const auto time = first_from(times, step); time != times.end()) time->begins = LevelBegin::start;
  } else if (name == "checkpoint" || name == "checkpoint_failed") {
    const auto seconds = event.find("seconds");
    mask_saving(times, step, seconds != event.end() && seconds->is_number() ? seconds->get<double>() : 0);
  } else if (name == "mitigate" || name == "revert") {
    begin_own_level(times, step - 1);  // of the first step under it
  } else if (std::find(kOwnActions.begin(), kOwnActions.end(), name) != kOwnActions.end()) {
    begin_own_level(times, step);
  }
}

IterationTimes read_run(const fs::path& run) {
  const fs::path metrics = run / "metrics.jsonl";
  IterationTimes times = parse_iteration_metrics(metrics, read_iteration_text(metrics), true);
  const auto take = [&](const json& event) { take_event(event, times); };
  for_each_json_line(run / "events.jsonl", take);
  std::error_code none;
  for (int replica = 0; fs::exists(run / ("replica-" + std::to_string(replica)), none); ++replica)
    for_each_json_line(run / ("replica-" + std::to_string(replica)) / "events.jsonl", [&](const json& event) {
      const std::string name = text_in(event, "event");
      if (name != "start" && name != "resume") take(event);  // the other replicas went on
    });
  return times;
}

}  // namespace

IterationTimes read_iteration_times(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) return read_run(path);
  const std::string text = read_iteration_text(path);
  return first_line(text).starts_with('{') ? parse_iteration_metrics(path, text, false)
                                           : parse_iteration_csv(path, text);
}

}  // namespace tenax::io
