#include <cmath>
#include <cstdio>
#include <map>

#include "app/command_line.hpp"
#include "app/commands/commands.hpp"
#include "app/console.hpp"
#include "io/json.hpp"
#include "io/run/call_log.hpp"
#include "io/run/iteration_text.hpp"
#include "io/run/iteration_times.hpp"
#include "kernels/error.hpp"
#include "resilience/detection/call_iterations.hpp"
#include "resilience/detection/iteration_tracker.hpp"

namespace tenax::app {

namespace {

namespace fs = std::filesystem;
using resilience::Change;

using DetectorFactory = std::unique_ptr<resilience::ChangeDetector> (*)(const resilience::DetectionOptions&);

struct Method {
  DetectorFactory make = nullptr;
  resilience::DetectionOptions options;

  resilience::IterationTracker tracker() const { return {make(options), options}; }
};

Method method_of(const CommandLine& line) {
  const std::map<std::string, DetectorFactory> factories = {{"bocd", resilience::make_run_length_detector},
                                                            {"window", resilience::make_window_detector},
                                                            {"raw", resilience::make_raw_detector}};
  constexpr int kLongest = 1'000'000'000;
  Method method{.make = factories.at(line.one_of("method", "bocd", {"bocd", "window", "raw"})),
                .options = {}};
  auto& options = method.options;
  options.min_change = line.real("min-change", options.min_change, 0.03, 1);
  options.hazard = line.real("hazard", options.hazard, 10, kLongest);
  options.warmup = static_cast<int>(line.integer("warmup", options.warmup, 0, kLongest));
  return method;
}

bool is_call_log(const fs::path& path) {
  std::error_code none;
  return !fs::is_directory(path, none) &&
         io::first_line(io::read_iteration_text(path)).starts_with(io::kCallLogHeader);
}

io::IterationTimes iterations_of(const fs::path& path) {
  if (!is_call_log(path)) return io::read_iteration_times(path);
  io::IterationTimes times;
  const io::CallLog log = io::read_call_log(path);
  const auto periods = resilience::find_call_iterations(log);
  if (!periods)
    print_notice(path.string() + ": its " + std::to_string(log.seconds.size()) +
                 " calls show no iterations: they have no period (of a run of tenax give its directory, "
                 "whose metrics.jsonl has the iterations' times)");
  for (const resilience::CallIteration& period : periods.value_or(std::vector<resilience::CallIteration>()))
    times.push_back({.iteration = static_cast<std::int64_t>(times.size()),
                     .seconds = period.seconds,
                     .is_masked = period.is_masked});
  return times;
}

void print_change(const std::string& file, bool is_run, const Change& change) {
  io::JsonObject object;
  object.add("file", file);
  if (is_run) object.add("step", change.iteration);
  object.add("iteration", change.iteration)
      .add("detected_at", change.detected_at)
      .add("event", change.is_onset() ? "onset" : "relief")
      .add("ratio", change.ratio())
      .add("probability", change.probability)
      .add("before_s", change.before_s)
      .add("after_s", change.after_s);
  std::printf("%s\n", object.text().c_str());
}

void detect(const std::string& file, const Method& method) {
  std::error_code none;
  const bool is_run = fs::is_directory(file, none);
  resilience::IterationTracker tracker = method.tracker();
  for (const io::IterationTime& time : iterations_of(file)) {
    if (time.begins == io::LevelBegin::start) tracker = method.tracker();
    if (time.begins == io::LevelBegin::own_action) tracker.own_action();
    if (time.begins == io::LevelBegin::other_work) tracker.own_action(resilience::ExpectedLevel::other_work);
    if (const auto change = tracker.add(time.iteration, time.seconds, time.is_masked))
      print_change(file, is_run, *change);
  }
}

}  // namespace

int detect_command(const Arguments& arguments) {
  constexpr int kMostFiles = 100'000;
  const CommandLine line({"detect", {"min-change", "hazard", "warmup", "method"}, {}, 1, kMostFiles},
                         arguments);
  const Method method = method_of(line);
  int status = 0;
  for (const std::string& file : line.positional()) try {
      detect(file, method);
    } catch (const kernels::Error& error) {
      std::fprintf(stderr, "%s\n", message_of(error).c_str());  // FILE:LINE: begins it
      status = 1;
    }
  return status;
}

}  // namespace tenax::app
