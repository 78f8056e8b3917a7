#include "io/checkpoint/checkpoint_info.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "io/checksum.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using nlohmann::json;

kernels::Shape shape_of(const json& extents) {
  const auto e = extents.get<std::vector<std::int64_t>>();
  assert(e.size() <= 2);
  return e.empty() ? kernels::Shape{} : e.size() == 1 ? kernels::Shape{e[0]} : kernels::Shape{e[0], e[1]};
}

json json_of(const StoredParameter& p) {
  json extents = json::array();
  for (int axis = 0; axis < p.shape.rank(); ++axis) extents.push_back(p.shape[axis]);
  json parts = json::array();
  for (const StoredPart& part : p.parts)
    parts.push_back({{"group", part.group}, {"checksum", part.checksum}, {"offset", part.offset}});
  return {{"name", p.name}, {"shape", extents}, {"parts", parts}, {"elements", p.elements}};
}

StoredParameter parameter_of(const json& j) {
  StoredParameter p;
  p.name = j.at("name");
  p.shape = shape_of(j.at("shape"));
  for (const json& part : j.at("parts"))
    p.parts.push_back(
        {.group = part.at("group"), .checksum = part.at("checksum"), .offset = part.at("offset")});
  p.elements = j.at("elements");
  return p;
}

json json_of(const std::vector<StoredParameter>& parameters) {
  json list = json::array();
  for (const StoredParameter& p : parameters) list.push_back(json_of(p));
  return list;
}

std::vector<StoredParameter> parameters_of(const json& list) {
  std::vector<StoredParameter> parameters;
  for (const json& j : list) parameters.push_back(parameter_of(j));
  return parameters;
}

void add(StoredParameter& sum, const StoredParameter& part) {
  assert(sum.shape == part.shape && sum.parts.size() == part.parts.size());
  for (std::size_t i = 0; i < sum.parts.size(); ++i) {
    assert(sum.parts[i].group == part.parts[i].group);
    sum.parts[i].checksum += part.parts[i].checksum;
  }
  sum.elements += part.elements;
}

StoredParameter contribution_of(const StateRange& range) {
  StoredParameter p{.name = range.name, .shape = range.layout.logical};
  for (const StatePart& part : range.parts) p.parts.push_back({.group = part.group});
  range.layout.for_each_run(range.local_begin, range.local_begin + range.count, [&](const auto& run) {
    const std::int64_t at = run.local_begin - range.local_begin;
    for (std::size_t i = 0; i < p.parts.size(); ++i)
      p.parts[i].checksum += checksum_of_words(range.parts[i].data + at, run.count, run.logical_begin);
    p.elements += run.count;
  });
  return p;
}

/// Adds `part` to the entry of its name.
void collect(std::map<std::string, StoredParameter>& of_name, const StoredParameter& part) {
  const auto [entry, is_new] = of_name.try_emplace(part.name, part);
  if (!is_new) add(entry->second, part);
}

std::vector<StoredParameter> values_of(const std::map<std::string, StoredParameter>& of_name) {
  std::vector<StoredParameter> values;
  for (const auto& [name, parameter] : of_name) values.push_back(parameter);
  return values;
}

}  // namespace

const StoredPart* StoredParameter::find(const std::string& group) const {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.group == group; });
  return found == parts.end() ? nullptr : &*found;
}

std::vector<std::string> CheckpointInfo::groups() const {
  std::vector<std::string> groups;
  if (parameters.empty()) return groups;
  for (const StoredPart& part : parameters.front().parts) groups.push_back(part.group);
  return groups;
}

const StoredParameter* CheckpointInfo::find(const std::string& name) const {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

std::vector<StoredParameter> contributions_of(std::span<const StateRange> ranges) {
  std::map<std::string, StoredParameter> of_name;
  for (const StateRange& range : ranges) {
    if (range.primary) collect(of_name, contribution_of(range));
  }
  return values_of(of_name);
}

std::vector<StoredParameter> merge_contributions(const std::vector<std::vector<StoredParameter>>& of_rank) {
  std::map<std::string, StoredParameter> of_name;
  for (const auto& parts : of_rank) {
    for (const StoredParameter& part : parts) collect(of_name, part);
  }
  for (const auto& [name, p] : of_name) {
    if (p.elements == p.shape.size()) continue;
    throw kernels::Error(kernels::Scope::job, "the ranks would save " + std::to_string(p.elements) +
                                                  " of the " + std::to_string(p.shape.size()) +
                                                  " elements of " + name);
  }
  return values_of(of_name);
}

std::string to_text(const std::vector<StoredParameter>& parameters) { return json_of(parameters).dump(); }
std::vector<StoredParameter> parse_parameters(const std::string& text) {
  return parameters_of(json::parse(text));
}

std::string to_text(const CheckpointInfo& info) {
  json j = {{"step", info.step},
            {"deck", info.deck},
            {"file_bytes", info.file_bytes},
            {"metadata_checksum", info.metadata_checksum},
            {"parameters", json_of(info.parameters)}};
  if (info.next_sample) j["next_sample"] = *info.next_sample;
  for (const auto& [name, member] : kModelSizes) j["model"][name] = info.model.*member;
  for (const auto& [name, member] : kOriginTexts) j["origin"][name] = info.origin.*member;
  return j.dump();
}

CheckpointInfo parse_info(const std::string& text) {
  const json j = json::parse(text);
  CheckpointInfo info;
  info.step = j.at("step");
  info.deck = j.at("deck");
  info.file_bytes = j.at("file_bytes");
  info.metadata_checksum = j.at("metadata_checksum");
  info.parameters = parameters_of(j.at("parameters"));
  if (j.contains("next_sample")) info.next_sample = j.at("next_sample").get<std::int64_t>();
  for (const auto& [name, member] : kModelSizes) info.model.*member = j.at("model").at(name);
  for (const auto& [name, member] : kOriginTexts) info.origin.*member = j.at("origin").at(name);
  return info;
}

}  // namespace tenax::io
