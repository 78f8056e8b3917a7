#include "tests/app/trace_claim.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <vector>

namespace {

using nlohmann::json;
using Track = std::pair<long, long>;  // process, thread

struct Slice {
  double begin_us, end_us;
};
struct End {
  long process;
  double at_us;
};
struct Flow {
  std::vector<End> starts, ends;
};

void require(bool holds, const std::string& what, const json& event) {
  if (!holds) throw std::runtime_error(what + ": " + event.dump());
}

Track track_of(const json& event) { return {event.at("pid").get<long>(), event.at("tid").get<long>()}; }

class Trace {
 public:
  void add(const json& event) {
    static const std::set<std::string> phases = {"M", "X", "s", "f", "C"};
    const std::string phase = event.at("ph");
    require(phases.contains(phase), "an unknown phase", event);
    require(event.at("name").is_string() && event.at("pid").is_number_integer() &&
                event.at("tid").is_number_integer(),
            "an event without name, process or thread", event);
    if (phase == "M") return metadata(event);
    require(event.at("ts").get<double>() >= 0 && event.at("cat").is_string(), "no time or category", event);
    if (phase == "C") return counter(event);
    phase == "X" ? slice(event) : flow(event, phase == "s");
  }

  void check(long messages, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      for (const long process : named_)
        if (!names_of_process_[process].contains(name))
          throw std::runtime_error("process " + std::to_string(process) + " has no \"" + name + "\"");
    for (auto& [track, slices] : slices_of_track_) check_apart(track, slices);
    for (const auto& [id, flow] : flow_of_id_) check_flow(id, flow);
    for (const auto& [track, at_us] : ends_of_flows_) check_bound(track, at_us);
    if (static_cast<long>(flow_of_id_.size()) != messages)
      throw std::runtime_error(std::to_string(flow_of_id_.size()) + " flows, not " +
                               std::to_string(messages));
  }

 private:
  void metadata(const json& event) {
    static const std::set<std::string> names = {"process_name", "process_sort_index", "process_labels",
                                                "thread_name"};
    require(names.contains(event.at("name").get<std::string>()) && event.at("args").is_object(),
            "unknown metadata", event);
    if (event.at("name") == "process_name") named_.insert(event.at("pid").get<long>());
  }

  static void counter(const json& event) {
    for (const json& value : event.at("args"))
      require(value.is_number(), "a counter that counts nothing", event);
  }

  void slice(const json& event) {
    const double begin_us = event.at("ts"), length_us = event.at("dur");
    require(length_us > 0, "a slice without length", event);
    slices_of_track_[track_of(event)].push_back({begin_us, begin_us + length_us});
    names_of_process_[event.at("pid").get<long>()].insert(event.at("name"));
  }

  void flow(const json& event, bool starts) {
    require(starts || event.at("bp") == "e", "an arrow that does not end at the slice around it", event);
    Flow& flow = flow_of_id_[event.at("id").get<long>()];
    ends_of_flows_.emplace_back(track_of(event), event.at("ts").get<double>());
    (starts ? flow.starts : flow.ends).push_back({event.at("pid").get<long>(), event.at("ts").get<double>()});
  }

  void check_apart(const Track& track, std::vector<Slice>& slices) const {
    constexpr double kRounding_us = 1e-2;  // of doubles that count microseconds since 1970
    std::sort(slices.begin(), slices.end(),
              [](const Slice& a, const Slice& b) { return a.begin_us < b.begin_us; });
    for (std::size_t i = 1; i < slices.size(); ++i)
      if (slices[i].begin_us < slices[i - 1].end_us - kRounding_us)
        throw std::runtime_error("slices of process " + std::to_string(track.first) + ", thread " +
                                 std::to_string(track.second) + " overlap");
    if (!named_.contains(track.first))
      throw std::runtime_error("process " + std::to_string(track.first) + " has no name");
  }

  void check_flow(long id, const Flow& flow) const {
    const std::string name = "flow " + std::to_string(id);
    if (flow.starts.size() != 1 || flow.ends.size() != 1)
      throw std::runtime_error(name + " has " + std::to_string(flow.starts.size()) + " starts and " +
                               std::to_string(flow.ends.size()) + " ends");
    if (flow.starts[0].process == flow.ends[0].process) throw std::runtime_error(name + " stays on one rank");
    if (flow.starts[0].at_us > flow.ends[0].at_us)
      throw std::runtime_error(name + " arrives before it leaves");
  }

  void check_bound(const Track& track, double at_us) const {
    const auto slices = slices_of_track_.find(track);
    const bool is_bound = slices != slices_of_track_.end() &&
                          std::any_of(slices->second.begin(), slices->second.end(), [&](const Slice& slice) {
                            return slice.begin_us <= at_us && at_us <= slice.end_us;
                          });
    if (!is_bound) throw std::runtime_error("a flow at " + std::to_string(at_us) + " us is at no slice");
  }

  std::map<Track, std::vector<Slice>> slices_of_track_;
  std::map<long, Flow> flow_of_id_;
  std::vector<std::pair<Track, double>> ends_of_flows_;
  std::set<long> named_;
  std::map<long, std::set<std::string>> names_of_process_;  // of slices
};

}  // namespace

void check_trace(const std::string& file, long messages, const std::vector<std::string>& names) {
  const json object = json::parse(std::ifstream(file));
  Trace trace;
  for (const json& event : object.at("traceEvents")) trace.add(event);
  trace.check(messages, names);
}
