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

/// How many live micro-batches of a step's `microbatches` a stage holds in a schedule that keeps no limit.
std::int64_t held_by(Schedule schedule, std::int64_t stages, std::int64_t stage, std::int64_t microbatches) {
  return schedule == Schedule::gpipe ? microbatches : std::min(stages - stage, microbatches);
}

/// A stage that is alone may run each forward pass with its backward pass, and then holds one.
bool may_fuse(const Deck& deck) {
  if (deck.parallel.pipeline_parallel_size > 1 || deck.device.kind == DeviceKind::emulated) return false;
  return deck.device.kind != DeviceKind::cpu || deck.device.recompute != Recompute::none;
}

void check_activation_limit(const Deck& deck, const Origins& origins) {
  const auto& limit = deck.pipeline.activation_limit;
  check_per_stage(deck, origins, "pipeline.activation_limit", limit.size());
  const Schedule schedule = deck.pipeline.schedule;
  if (limit.empty() || splits_backward(schedule) || may_fuse(deck)) return;
  const auto& batch = deck.batch;
  const auto& parallel = deck.parallel;
  const std::int64_t all = batch.global_batch_size / (batch.micro_batch_size * parallel.data_parallel_size);
  const std::int64_t microbatches = (all + parallel.replicas - 1) / parallel.replicas;
  const std::int64_t stages = parallel.pipeline_parallel_size;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::int64_t asked = limit[limit.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
    const std::int64_t held = held_by(schedule, stages, stage, microbatches);
    if (asked == 0 || asked >= held) continue;
    origins.fail({"pipeline.activation_limit", "pipeline.schedule"},
                 "pipeline.schedule = " + json_string(deck.pipeline.schedule.word()) + " holds " +
                     std::to_string(held) + " live activations on stage " + std::to_string(stage) +
                     ", more than pipeline.activation_limit = " + std::to_string(asked) +
                     ": raise it, or use \"zero_bubble\", which keeps any");
  }
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
  check_activation_limit(deck, origins);
  check_kinds(deck, origins);
  check_device(deck, origins);
  check_verbs(deck, origins);
  check_slowness(deck, origins);
  check_replicas(deck, origins);
  check_faults(deck, origins);
}

}  // namespace tenax::io
