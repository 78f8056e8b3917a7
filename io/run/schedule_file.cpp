#include "io/run/schedule_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string_view>

#include "io/json_parse.hpp"
#include "io/text.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;
using Path = std::filesystem::path;

constexpr std::int64_t kMostStages = 65'536, kMostMicrobatches = 1'000'000, kMostOps = 50'000'000;
constexpr double kLongest_ms = 1e9;

[[noreturn]] void refuse_schedule(const Path& file, const std::string& why) {
  throw kernels::Error(kernels::Scope::rank, file.string() + ": " + why);
}

const json& member(const json& object, const char* name, const Path& file) {
  const auto found = object.find(name);
  if (found == object.end()) refuse_schedule(file, std::string("\"") + name + "\" is missing");
  return *found;
}

std::int64_t count_in(const json& object, const char* name, std::int64_t most, const Path& file) {
  const json& value = member(object, name, file);
  if (!value.is_number_integer() || value.get<double>() < 1 ||
      value.get<double>() > static_cast<double>(most))
    refuse_schedule(file, std::string("\"") + name + "\" must be an integer from 1 to " +
                              std::to_string(most) + ", not " + shown(value));
  return value.get<std::int64_t>();
}

const json& array_in(const json& object, const char* name, int length, const Path& file) {
  const json& array = member(object, name, file);
  if (!array.is_array() || array.size() != static_cast<std::size_t>(length))
    refuse_schedule(file, std::string("\"") + name + "\" must be a list of " + std::to_string(length) +
                              (array.is_array() ? ", not of " + std::to_string(array.size()) : ""));
  return array;
}

std::vector<double> times_in(const json& object, const char* name, int length, const Path& file) {
  std::vector<double> times;
  for (const json& entry : array_in(object, name, length, file)) {
    const double time = entry.is_number() ? entry.get<double>() : -1;
    if (!(time >= 0 && time <= kLongest_ms))
      refuse_schedule(
          file, std::string("\"") + name + "\" must hold milliseconds from 0 to 1e9, not " + shown(entry));
    times.push_back(time);
  }
  return times;
}

std::vector<int> limit_in(const json& object, int stages, const Path& file) {
  const auto found = object.find("activation_limit");
  if (found == object.end() || found->is_null()) return {};
  std::vector<int> limit;
  for (const json& entry : array_in(object, "activation_limit", stages, file)) {
    const double value = entry.is_number() ? entry.get<double>() : -1;
    if (!(value >= 1 && value <= 1e9) || value != std::floor(value))
      refuse_schedule(file, "\"activation_limit\" must hold integers of at least 1, not " + shown(entry));
    limit.push_back(static_cast<int>(value));
  }
  return limit;
}

double share_in(const json& object, const Path& file) {
  const auto found = object.find("weight_share");
  if (found == object.end() || found->is_null()) return 0;
  const double share = found->is_number() ? found->get<double>() : -1;
  if (!(share >= 0 && share <= 1))
    refuse_schedule(file, "\"weight_share\" must be from 0 to 1, not " + shown(*found));
  return share;
}

// A misspelt key would silently mean its default.
void check_members(const json& object, const Path& file) {
  static constexpr std::array<std::string_view, 8> kMembers = {
      "stages",          "microbatches", "forward",          "backward_input",
      "backward_weight", "link_delay",   "activation_limit", "weight_share"};
  for (const auto& [name, value] : object.items())
    if (std::find(kMembers.begin(), kMembers.end(), name) == kMembers.end())
      refuse_schedule(file, "\"" + excerpt(name) + "\" is not a member of an instance");
}

ScheduleFileOp op_of(const json& entry, std::size_t stage, const Path& file) {
  const auto wrong = [&] {
    refuse_schedule(file, "stage " + std::to_string(stage) +
                              ": an op must be [\"F\", \"B\", \"W\" or \"BW\", microbatch], not " +
                              shown(entry));
  };
  if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number_integer())
    wrong();
  const auto microbatch = entry[1].get<double>();
  const ScheduleFileOp op{entry[0].get<std::string>(), static_cast<int>(std::clamp(microbatch, -1.0, 1e9))};
  if (op.code != "F" && op.code != "B" && op.code != "W" && op.code != "BW") wrong();
  return op;
}

}  // namespace

InstanceFile read_instance(const Path& file) {
  const json object = read_json(file);
  if (!object.is_object()) refuse_schedule(file, "an instance is one JSON object");
  check_members(object, file);
  InstanceFile instance;
  instance.stages = static_cast<int>(count_in(object, "stages", kMostStages, file));
  instance.microbatches = static_cast<int>(count_in(object, "microbatches", kMostMicrobatches, file));
  if (3 * std::int64_t{instance.stages} * instance.microbatches > kMostOps)
    refuse_schedule(file, "more than " + std::to_string(kMostOps) + " passes are too many to plan");
  instance.forward_ms = times_in(object, "forward", instance.stages, file);
  instance.backward_input_ms = times_in(object, "backward_input", instance.stages, file);
  instance.backward_weight_ms = times_in(object, "backward_weight", instance.stages, file);
  instance.link_delay_ms = times_in(object, "link_delay", instance.stages - 1, file);
  instance.activation_limit = limit_in(object, instance.stages, file);
  instance.weight_share = share_in(object, file);
  return instance;
}

std::vector<std::vector<ScheduleFileOp>> read_schedule(const Path& file) {
  const json object = read_json(file);
  if (!object.is_object()) refuse_schedule(file, "a schedule is one JSON object");
  const json& stages = member(object, "stages", file);
  if (!stages.is_array()) refuse_schedule(file, "\"stages\" must be a list of {\"ops\": […]}, one per stage");
  std::vector<std::vector<ScheduleFileOp>> schedule;
  for (const json& stage : stages) {
    const std::size_t number = schedule.size();
    if (!stage.is_object() || !stage.contains("ops") || !stage["ops"].is_array())
      refuse_schedule(file, "stage " + std::to_string(number) + " must be an object with a list \"ops\"");
    auto& ops = schedule.emplace_back();
    for (const json& entry : stage["ops"]) ops.push_back(op_of(entry, number, file));
  }
  return schedule;
}

std::string schedule_stages_json(const std::vector<std::vector<ScheduleFileOp>>& stages) {
  std::string text = "[";
  for (const auto& ops : stages) {
    text += text.size() > 1 ? ",{\"ops\":[" : "{\"ops\":[";
    bool first = true;
    for (const ScheduleFileOp& op : ops) {
      text += (first ? "[\"" : ",[\"") + op.code + "\"," + std::to_string(op.microbatch) + "]";
      first = false;
    }
    text += "]}";
  }
  return text + "]";
}

void write_text_file(const Path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) refuse_schedule(file, "cannot be written: is there such a directory, and room in it?");
}

}  // namespace tenax::io
