#include "io/deck/deck_check.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "io/deck/deck_key.hpp"
#include "io/deck/fault_trace.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

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
    check_window();
    if (is_link()) check_link();
    if (fault_.kind == FaultKind::link_delay) check_delay();
    if (fault_.kind == FaultKind::link_down && fault_.path.empty())
      fail({"path", "kind"}, "a link_down needs " + name("path") + " = \"direct\" or an address");
    if (fault_.kind == FaultKind::link_down && !may_be_address(fault_.path))
      fail({"path"}, shown("path") +
                         " is neither \"direct\" nor an address, as \"10.0.0.5\", \"fe80::1\", "
                         "\"10.0.0.5:4000\" or \"shm\" would be");
    if (fault_.kind == FaultKind::slow_compute) check_compute();
    if (fault_.kind == FaultKind::process) check_process();
    if (fault_.kind == FaultKind::partition) check_partition();
    if (fault_.kind == FaultKind::hang) check_hang();
    if (fault_.kind == FaultKind::bit_flip) check_bit_flip();
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

  void check_window() const {
    if (fault_.to_step > 0 && fault_.from_step > fault_.to_step)
      fail({"to_step", "from_step"}, shown("to_step") + " is before " + shown("from_step"));
    if (fault_.to_s > 0 && fault_.from_s > fault_.to_s)
      fail({"to_s", "from_s"}, shown("to_s") + " is before " + shown("from_s"));
  }

  bool is_link() const { return fault_.kind == FaultKind::link_delay || fault_.kind == FaultKind::link_down; }

  void check_link() const {
    const auto count = [](const auto& list) { return list.empty() ? 0 : 1; };
    if (count(fault_.stages) + count(fault_.ranks) + count(fault_.replicas) != 1)
      fail({"ranks", "stages", "replicas"},
           entry_ + (fault_.kind == FaultKind::link_delay
                         ? " needs stages = [i, i + 1], ranks = [a, b] or replicas = [a, b], one of them"
                         : " needs stages = [i, i + 1] or ranks = [a, b], one of them"));
    if (!fault_.stages.empty()) check_stages();
    if (!fault_.ranks.empty()) check_ranks();
    if (!fault_.replicas.empty()) check_pair_of_replicas();
    if (fault_.data >= 0 && fault_.stages.empty())
      fail({"data"}, shown("data") + " goes with stages; " +
                         shown(fault_.ranks.empty() ? "replicas" : "ranks") + " is one link");
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
  }

  void check_pair_of_replicas() const {
    const auto& replicas = fault_.replicas;
    if (replicas.size() != 2 || replicas[0] == replicas[1])
      fail({"replicas"}, shown("replicas") + " must be two different replicas, as in [0, 1]");
    check_is_replica("replicas", std::max(replicas[0], replicas[1]));
  }

  void check_is_replica(const char* key, std::int64_t replica) const {
    if (replica >= deck_.parallel.replicas)
      fail({key}, shown(key) + " is outside of the run: it has " + std::to_string(deck_.parallel.replicas) +
                      (deck_.parallel.replicas == 1 ? " replica" : " replicas") +
                      " (parallel.replicas), counted from 0");
  }

  void check_compute() const {
    if (!is_set("rank")) fail({"rank", "kind"}, "a slow_compute needs " + name("rank"));
    check_is_rank("run", 0);
    check_is_replica("replica", fault_.replica);
    if ((fault_.factor > 0) != fault_.trace.empty())
      fail({"factor", "trace", "kind"},
           "a slow_compute needs " + name("factor") + " or " + name("trace") + ", one of them");
    if (fault_.factor > 0 && fault_.factor < 1)
      fail({"factor"}, shown("factor") + " is out of range: it must be at least 1");
    if (deck_.device.kind == DeviceKind::cuda) fail({"kind"}, shown("kind") + ": " + kCannotSlowGpu);
  }

  void check_is_rank(const char* whole, std::int64_t least) const {
    if (fault_.rank < least || fault_.rank >= deck_.parallel.ranks())
      fail({"rank"}, shown("rank") + " is outside of the " + whole + ": it has " +
                         std::to_string(deck_.parallel.ranks()) +
                         " ranks (tensor x pipeline x data), counted from 0");
  }

  void check_process() const {
    if (fault_.replica < 0)
      fail({"replica", "kind"}, "a process fault needs " + name("replica") + " = 0 or more");
    check_is_replica("replica", fault_.replica);
    check_is_rank("replica", -1);
    if (fault_.stop_s > 0 && fault_.signal != FaultSignal::stop)
      fail({"stop_s", "signal"}, shown("stop_s") + " needs " + name("signal") + " = \"STOP\"");
  }

  void check_hang() const {
    if (fault_.replica < 0) fail({"replica", "kind"}, "a hang needs " + name("replica") + " = 0 or more");
    check_is_replica("replica", fault_.replica);
    check_is_rank("replica", 0);
    const ParallelSection& parallel = deck_.parallel;
    if (fault_.where == HangPlace::skip_collective &&
        parallel.tensor_parallel_size * parallel.data_parallel_size == 1)
      fail({"where"}, shown("where") + " needs a tensor or data group of more than one rank");
    if (fault_.where == HangPlace::connection &&
        (deck_.device.kind != DeviceKind::emulated || parallel.ranks() == 1))
      fail({"where"},
           shown("where") +
               " needs device.kind = \"emulated\" and several ranks: others' messages go over MPI or NCCL");
    if (fault_.where == HangPlace::pass && deck_.device.kind == DeviceKind::cuda)
      fail({"where"}, shown("where") + " needs device.kind = \"cpu\" or \"emulated\"");
  }

  void check_partition() const {
    if (fault_.seconds == 0)
      fail({"seconds", "kind"}, "a partition needs " + name("seconds") + ", greater than 0");
    const bool is_from_service = fault_.service && fault_.replica >= 0 && fault_.replicas.empty();
    const bool is_pair = !fault_.service && fault_.replica < 0 && !fault_.replicas.empty();
    if (!is_from_service && !is_pair)
      fail({"replicas", "replica", "service"},
           entry_ + " needs replicas = [a, b], or replica = a with service = true, one of them");
    if (is_pair) check_pair_of_replicas();
    if (is_from_service) check_is_replica("replica", fault_.replica);
  }

  void check_bit_flip() const {
    if (fault_.replica < 0) fail({"replica", "kind"}, "a bit_flip needs " + name("replica") + " = 0 or more");
    check_is_replica("replica", fault_.replica);
    check_is_rank("replica", 0);
    if (fault_.tensor.empty())
      fail({"tensor", "kind"}, "a bit_flip needs " + name("tensor") + ", a parameter's Hugging Face name");
    if (deck_.optimizer.kind == OptimizerKind::lion && fault_.part == FlippedPart::exp_avg_sq)
      fail({"part"}, shown("part") + " needs optimizer.kind = \"adamw\": lion has no second moment");
    if (deck_.device.kind == DeviceKind::cuda || deck_.device.kind == DeviceKind::emulated)
      fail({"kind"}, shown("kind") + ": " + kCannotFlip);
  }

  // The resolved deck says all of a fault's keys, so that "said" alone does not mean "meant".
  void check_delay() const {
    const bool constant = fault_.delay_ms > 0 || fault_.gbps > 0;
    const bool per_packet = fault_.per_packet_ms > 0 || fault_.packet_bytes > 0;
    const int meant = (constant ? 1 : 0) + (per_packet ? 1 : 0) + (fault_.trace.empty() ? 0 : 1);
    const bool said = is_set("delay_ms") || is_set("per_packet_ms");
    if (meant > 1 || (meant == 0 && !said))
      fail({"delay_ms", "gbps", "per_packet_ms", "packet_bytes", "trace"},
           "a link_delay needs delay_ms, gbps or both, or per_packet_ms with packet_bytes, or trace, one of "
           "these three");
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

}  // namespace

void check_faults(const Deck& deck, const Origins& origins) {
  for (std::size_t i = 0; i < deck.inject.size(); ++i) FaultCheck(deck, i, origins).check();
}

void check_traces(const Deck& deck, const Origins& origins) {
  for (std::size_t i = 0; i < deck.inject.size(); ++i) {
    const InjectEntry& fault = deck.inject[i];
    if (fault.trace.empty()) continue;
    try {
      read_fault_trace(fault.trace, fault.kind == FaultKind::slow_compute ? kTracedFactor : kTracedDelay);
    } catch (const kernels::Error& error) {
      const std::string key = "inject." + std::to_string(i) + ".trace";
      throw kernels::Error(error.scope(), origins.place_of({key}) + key + ": " + error.what());
    }
  }
}

}  // namespace tenax::io
