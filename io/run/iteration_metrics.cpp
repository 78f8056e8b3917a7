#include <optional>
#include <string>
#include <utility>

#include "io/csv_fields.hpp"
#include "io/json_parse.hpp"
#include "io/run/iteration_text.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;

/// Of an iteration of replicas; nothing where the line does not say so.
struct Work {
  std::int64_t replicas = 0;
  double tokens = 0;  ///< of one on average

  bool operator==(const Work&) const = default;
};

Work work_of(const json& object) {
  const auto tokens = object.find("tokens"), replicas = object.find("replicas");
  const bool says_so = tokens != object.end() && tokens->is_number() && replicas != object.end() &&
                       replicas->is_number_integer() && replicas->get<std::int64_t>() > 0;
  if (!says_so) return {};
  const auto count = replicas->get<std::int64_t>();
  return {.replicas = count, .tokens = tokens->get<double>() / static_cast<double>(count)};
}

/// Whether it is another one than `work`, which it becomes: the exchange between more replicas takes longer, too.
bool takes_other_work(const json& object, Work& work) {
  const Work now = work_of(object), before = std::exchange(work, now);
  return before.tokens > 0 && now.tokens > 0 && before != now;
}

/// What is wrong with the line; empty if nothing. `work`: of the last iteration that was not masked.
std::string read_line(std::string_view line, Work& work, IterationTimes& times) {
  const ParsedJson parsed = parse_json(line);
  if (!parsed.fault.empty()) return parsed.fault;
  const json& object = parsed.value;
  if (!object.is_object()) return "is no JSON object";
  if (object.contains("validation_loss")) return {};
  const auto step = object.find("step");
  if (step == object.end() || !step->is_number_integer()) return "step is no whole number";
  const char* const name = object.contains("iteration_seconds") ? "iteration_seconds" : "seconds";
  const auto seconds = object.find(name);
  if (seconds == object.end() || !seconds->is_number()) return std::string(name) + " is no number";
  const auto masked = object.find("masked");
  if (masked != object.end() && !masked->is_boolean()) return "masked is neither true nor false";
  IterationTime time{.iteration = step->get<std::int64_t>(),
                     .seconds = seconds->get<double>(),
                     .is_masked = masked != object.end() && masked->get<bool>()};
  if (!time.is_masked && takes_other_work(object, work)) time.begins = LevelBegin::other_work;
  return add_iteration(times, time);
}

}  // namespace

IterationTimes parse_iteration_metrics(const std::filesystem::path& file, std::string_view text,
                                       bool is_run) {
  if (is_run) text = text.substr(0, text.rfind('\n') + 1);  // nothing, where no line has an end
  IterationTimes times;
  std::size_t number = 0;
  Work work;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    ++number;
    if (!line.empty()) check_line(file, number, read_line(line, work, times));
  }
  return times;
}

}  // namespace tenax::io
