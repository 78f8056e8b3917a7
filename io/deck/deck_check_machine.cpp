#include "io/deck/deck_check.hpp"

#include <algorithm>

#include "io/deck/deck_key.hpp"
#include "io/json.hpp"

namespace tenax::io {
namespace {

/// A list that holds one number, or one per stage.
void check_per_stage(const Deck& deck, const Origins& origins, const std::string& key, std::size_t entries) {
  const auto stages = static_cast<std::size_t>(deck.parallel.pipeline_parallel_size);
  if (entries <= 1 || entries == stages) return;
  origins.fail({key, "parallel.pipeline_parallel_size"}, key + " has " + std::to_string(entries) +
                                                             " entries; it must be one number, or " +
                                                             std::to_string(stages) + ", one per stage");
}

/// "\"a\", \"b\" or \"c\""
std::string either_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + json_string(words[i]);
  return text;
}

/// One section, or one [[inject]] entry, which messages call `prefix`.
void check_kind_of(Deck& deck, const std::string& section, std::size_t index, const std::string& prefix,
                   const Origins& origins) {
  Deck defaults;
  defaults.inject.resize(index + 1);
  const std::string kind = std::get<AnyChoice*>(find_key(section, "kind")->target(deck, index))->word();
  for (const auto& key : deck_keys()) {
    const auto& kinds = key.kinds;
    if (key.section != section || kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end())
      continue;
    const std::string value = toml_text(key.target(deck, index), key);
    if (value == toml_text(key.target(defaults, index), key)) continue;
    origins.fail(
        {prefix + "." + key.name, prefix + ".kind"},
        prefix + "." + key.name + " = " + value + " needs " + prefix + ".kind = " + either_of(kinds));
  }
}

/// A key that only one value of its section's `kind` honours must be left at its default with the others.
void check_kinds(const Deck& deck, const Origins& origins) {
  Deck copy = deck;  // targets point into a Deck that may be written
  check_kind_of(copy, "device", 0, "device", origins);
  for (std::size_t i = 0; i < copy.inject.size(); ++i) {
    if (copy.inject[i].kind.empty()) continue;
    check_kind_of(copy, "inject", i, "inject." + std::to_string(i), origins);
  }
}

/// The emulated device's times: each is there, as one number or one per stage.
void check_device(const Deck& deck, const Origins& origins) {
  const auto& device = deck.device;
  if (device.cuda_graph && deck.parallel.ranks() * deck.parallel.replicas > 1)
    origins.fail({"device.cuda_graph", "parallel.data_parallel_size"},
                 "device.cuda_graph = true needs a run of one rank: what several ranks say to each other "
                 "cannot be captured");
  if (device.recompute != Recompute::none && deck.parallel.pipeline_parallel_size > 1 &&
      splits_backward(deck.pipeline.schedule))
    origins.fail({"device.recompute", "pipeline.schedule"},
                 "device.recompute = " + json_string(device.recompute.word()) +
                     " needs backward passes that are not split: pipeline.schedule = \"1f1b\" or \"gpipe\", "
                     "or one stage");
  if (device.kind != DeviceKind::emulated) return;
  const auto check_times = [&](const char* name, const std::vector<double>& times) {
    const std::string key = std::string("device.") + name;
    if (times.empty())
      origins.fail({key, "device.kind"}, key + " is required for device.kind = \"emulated\", for example " +
                                             name + " = 10.0 in [device]");
    check_per_stage(deck, origins, key, times.size());
  };
  check_times("forward_ms", device.forward_ms);
  check_times("backward_input_ms", device.backward_input_ms);
  check_times("backward_weight_ms", device.backward_weight_ms);
}

}  // namespace

void check_machine(const Deck& deck, const Origins& origins) {
  check_per_stage(deck, origins, "pipeline.activation_limit", deck.pipeline.activation_limit.size());
  check_kinds(deck, origins);
  check_device(deck, origins);
  check_verbs(deck, origins);
  check_slowness(deck, origins);
  check_replicas(deck, origins);
  check_faults(deck, origins);
}

}  // namespace tenax::io
