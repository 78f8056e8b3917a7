#include "io/deck/deck_check.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "io/deck/deck_key.hpp"
#include "io/deck/delay_trace.hpp"
#include "io/json.hpp"
#include "kernels/error.hpp"

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

/// One section, or one [[inject]] entry, which messages call `prefix`.
void check_kind_of(Deck& deck, const std::string& section, std::size_t index, const std::string& prefix,
                   const Origins& origins) {
  Deck defaults;
  defaults.inject.resize(index + 1);
  const std::string kind = std::get<AnyChoice*>(find_key(section, "kind")->target(deck, index))->word();
  for (const auto& key : deck_keys()) {
    if (key.section != section || key.kind.empty() || key.kind == kind) continue;
    const std::string value = toml_text(key.target(deck, index), key);
    if (value == toml_text(key.target(defaults, index), key)) continue;
    origins.fail(
        {prefix + "." + key.name, prefix + ".kind"},
        prefix + "." + key.name + " = " + value + " needs " + prefix + ".kind = " + json_string(key.kind));
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

/// Whether `path` may stand for an address, or its kind, host or port: which there are is known once ranks listen.
bool may_be_address(std::string_view path) {
  const auto is_alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const bool begins = is_alphanumeric(path.front()) || path.front() == '[' || path.starts_with("::");
  return begins && std::all_of(path.begin(), path.end(), [&](char c) {
           return is_alphanumeric(c) || std::string_view(".:%-_[]/@").find(c) != std::string_view::npos;
         });
}

/// Checks one entry; messages name its keys as overrides do: "inject.0.delay_ms".
class FaultCheck {
 public:
  FaultCheck(const Deck& deck, std::size_t index, const Origins& origins)
      : deck_(deck),
        fault_(deck.inject[index]),
        index_(index),
        entry_("inject." + std::to_string(index)),
        origins_(origins) {}

  void check() const {
    if (fault_.kind.empty())
      fail({"kind"}, name("kind") + " is required, for example kind = \"link_delay\" in [[inject]]");
    check_steps();
    check_link();
    if (fault_.kind == FaultKind::link_delay) check_delay();
    if (fault_.kind == FaultKind::link_down && fault_.path.empty())
      fail({"path", "kind"}, "a link_down needs " + name("path") + " = \"direct\" or an address");
    if (fault_.kind == FaultKind::link_down && !may_be_address(fault_.path))
      fail({"path"}, shown("path") +
                         " is neither \"direct\" nor an address, as \"10.0.0.5\", \"fe80::1\", "
                         "\"10.0.0.5:4000\" or \"shm\" would be");
  }

 private:
  std::string name(const char* key) const { return entry_ + "." + key; }
  /// "inject.0.stages = [0, 1]"
  std::string shown(const char* key) const {
    Deck copy = deck_;
    const DeckKey& row = *find_key("inject", key);
    return name(key) + " = " + toml_text(row.target(copy, index_), row);
  }
  bool is_set(const char* key) const { return origins_.is_set(name(key)); }
  [[noreturn]] void fail(std::vector<std::string> keys, const std::string& message) const {
    for (auto& key : keys) key = name(key.c_str());
    keys.push_back(entry_);
    origins_.fail(keys, message);
  }

  void check_steps() const {
    if (fault_.to_step == 0 || fault_.from_step <= fault_.to_step) return;
    fail({"to_step", "from_step"}, shown("to_step") + " is before " + shown("from_step"));
  }

  void check_link() const {
    if (fault_.stages.empty() == fault_.ranks.empty())
      fail({"ranks", "stages"}, entry_ + " needs stages = [i, i + 1] or ranks = [a, b], one of them");
    fault_.ranks.empty() ? check_stages() : check_ranks();
  }

  void check_stages() const {
    const auto& stages = fault_.stages;
    const std::int64_t size = deck_.parallel.pipeline_parallel_size;
    if (stages.size() != 2 || std::abs(stages[0] - stages[1]) != 1)
      fail({"stages"}, shown("stages") + " must be two neighbours, as in [0, 1]");
    if (std::max(stages[0], stages[1]) >= size)
      fail({"stages"}, shown("stages") + " is outside of the pipeline: it has " + std::to_string(size) +
                           " stages (parallel.pipeline_parallel_size), counted from 0");
    if (fault_.data >= deck_.parallel.data_parallel_size)
      fail({"data"}, shown("data") + " is no pipeline: there are " +
                         std::to_string(deck_.parallel.data_parallel_size) +
                         " (parallel.data_parallel_size), counted from 0");
  }

  void check_ranks() const {
    const auto& ranks = fault_.ranks;
    if (ranks.size() != 2 || ranks[0] == ranks[1])
      fail({"ranks"}, shown("ranks") + " must be two different ranks, as in [0, 1]");
    if (std::max(ranks[0], ranks[1]) >= deck_.parallel.ranks())
      fail({"ranks"}, shown("ranks") + " is outside of the run: it has " +
                          std::to_string(deck_.parallel.ranks()) +
                          " ranks (tensor x pipeline x data), counted from 0");
    if (fault_.data >= 0)
      fail({"data"}, shown("data") + " goes with stages; " + shown("ranks") + " is one link");
  }

  // The resolved deck says all of a fault's keys, so that "said" alone does not mean "meant".
  void check_delay() const {
    const bool constant = fault_.delay_ms > 0;
    const bool per_packet = fault_.per_packet_ms > 0 || fault_.packet_bytes > 0;
    const int meant = (constant ? 1 : 0) + (per_packet ? 1 : 0) + (fault_.trace.empty() ? 0 : 1);
    const bool said = is_set("delay_ms") || is_set("per_packet_ms");
    if (meant > 1 || (meant == 0 && !said))
      fail({"delay_ms", "per_packet_ms", "packet_bytes", "trace"},
           "a link_delay needs delay_ms, or per_packet_ms with packet_bytes, or trace, one of them");
    if (per_packet && (fault_.packet_bytes == 0 || !is_set("per_packet_ms")))
      fail({"per_packet_ms", "packet_bytes"},
           name("per_packet_ms") + " and " + name("packet_bytes") + " go together");
  }

  const Deck& deck_;
  const InjectEntry& fault_;
  const std::size_t index_;
  const std::string entry_;
  const Origins& origins_;
};

void check_faults(const Deck& deck, const Origins& origins) {
  for (std::size_t i = 0; i < deck.inject.size(); ++i) FaultCheck(deck, i, origins).check();
}

}  // namespace

void check_machine(const Deck& deck, const Origins& origins) {
  check_per_stage(deck, origins, "pipeline.activation_limit", deck.pipeline.activation_limit.size());
  check_kinds(deck, origins);
  check_device(deck, origins);
  check_faults(deck, origins);
}

void check_traces(const Deck& deck, const Origins& origins) {
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    if (deck.inject[i].trace.empty()) continue;
    try {
      read_delay_trace(deck.inject[i].trace);
    } catch (const kernels::Error& error) {
      const std::string key = "inject." + std::to_string(i) + ".trace";
      throw kernels::Error(error.scope(), origins.place_of({key}) + key + ": " + error.what());
    }
  }
}

}  // namespace tenax::io
