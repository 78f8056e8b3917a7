#include "app/training/profile.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace tenax::app {
namespace {

using nlohmann::json;
using parallel::Pass;
using parallel::TransferKind;

/// Two stages, one microbatch, and sends that overlap on the first.
json events_of_two_ranks() {
  StepProfile first({{Pass::forward, 0}, {Pass::forward, 1}, {Pass::backward_input, 0}}), second;
  first.on_pass({{Pass::forward, 0}, 1000.0, 1000.001});
  first.on_pass({{Pass::forward, 1}, 1000.001, 1000.0020000004});
  first.on_pass({{Pass::backward_input, 0}, 1000.0020000004, 1000.004});
  first.on_transfer({TransferKind::send_activation, 0, 64, 1000.001, 1000.003, {}, false});
  first.on_transfer({TransferKind::send_activation, 1, 64, 1000.002, 1000.0025, {}, false});
  first.on_transfer({TransferKind::receive_gradient, 0, 64, 1000.0, 1000.002, {}, false});
  first.on_phase({parallel::PhaseRecord::Where::host, "load data", 999.9, 1000.0});
  first.on_phase({parallel::PhaseRecord::Where::stream, "optimizer", 1000.004, 1000.005});
  first.on_phase({parallel::PhaseRecord::Where::background, "checkpoint write", 999.0, 1000.001});
  first.on_collective({comm::CollectiveKind::reduce_scatter, "data", 2, 4096, 1000.003, 1000.0041});
  first.on_collective({comm::CollectiveKind::reduce_scatter, "data", 2, 2048, 1000.0031, 1000.0042});
  second.on_pass({{Pass::forward, 0}, 1000.0015, 1000.0016});
  second.on_pass({{Pass::backward, 0}, 1000.0016, 1000.0019});
  second.on_transfer({TransferKind::receive_activation, 0, 64, 1000.0, 1000.0015, {}, false});
  second.on_transfer({TransferKind::send_gradient, 0, 64, 1000.0019, 1000.002, {}, false});
  parallel::GridCoordinates below;
  below.pipeline = 1;
  return json::parse("[" + first.trace_events(0, {}) + "," + second.trace_events(1, below) + "]");
}

bool holds(const json& slice, const json& event) {
  const double ts = event["ts"], begin = slice["ts"], end = begin + slice["dur"].get<double>();
  return slice["pid"] == event["pid"] && slice["tid"] == event["tid"] && begin <= ts && ts < end;
}

TEST(Profile, slices_of_a_track_do_not_overlap) {
  std::map<std::pair<int, int>, double> end_of_track;
  std::vector<json> slices;
  for (const json& event : events_of_two_ranks())
    if (event["ph"] == "X") slices.push_back(event);
  std::sort(slices.begin(), slices.end(), [](const json& a, const json& b) { return a["ts"] < b["ts"]; });
  for (const json& slice : slices) {
    double& end = end_of_track[{slice["pid"].get<int>(), slice["tid"].get<int>()}];
    EXPECT_GE(slice["ts"].get<double>(), end - 1e-4) << slice;
    end = slice["ts"].get<double>() + slice["dur"].get<double>();
  }
  EXPECT_EQ(slices.size(), 15U);
}

TEST(Profile, a_message_is_an_arrow_from_the_pass_that_made_it_to_the_pass_that_used_it) {
  const json events = events_of_two_ranks();
  std::map<std::int64_t, std::string> ends_of_message;
  for (const json& event : events) {
    if (event["ph"] != "s" && event["ph"] != "f") continue;
    EXPECT_EQ(event.value("bp", ""), event["ph"] == "f" ? "e" : "");
    std::string around;
    for (const json& slice : events)
      if (slice["ph"] == "X" && holds(slice, event)) around += slice["name"];
    ends_of_message[event["id"]] +=
        event["ph"].get<std::string>() + ":" + std::to_string(event["pid"].get<int>()) + ":" + around + " ";
  }
  std::multiset<std::string> messages;
  for (const auto& [id, ends] : ends_of_message) messages.insert(ends);
  EXPECT_EQ(messages, (std::multiset<std::string>{"s:0:F0 f:1:F0 ", "s:0:F1 ", "f:0:B0 s:1:BW0 "}));
}

TEST(Profile, names_are_those_of_the_profilers_ranges) {
  std::set<std::string> names;
  for (const json& event : events_of_two_ranks())
    if (event["ph"] == "X") names.insert(event["name"]);
  EXPECT_TRUE(names.contains("F1"));
  EXPECT_TRUE(names.contains(parallel::name_of(TransferKind::send_activation, 1)));
  EXPECT_TRUE(names.contains(parallel::name_of(TransferKind::receive_gradient, 0)));
}

TEST(Profile, shows_what_a_rank_does_beside_its_passes_on_rows_of_their_own) {
  std::map<std::pair<int, int>, std::string> name_of_row;
  const json events = events_of_two_ranks();
  for (const json& event : events)
    if (event["name"] == "thread_name") name_of_row[{event["pid"], event["tid"]}] = event["args"]["name"];
  std::multiset<std::string> found;
  for (const json& event : events)
    if (event.value("cat", "") == "phase" || event.value("cat", "") == "collective")
      found.insert(event["name"].get<std::string>() + " in " + name_of_row[{event["pid"], event["tid"]}]);
  EXPECT_EQ(found,
            (std::multiset<std::string>{
                "checkpoint write in background", "load data in step", "optimizer in passes, optimizer",
                "reduce_scatter data in collectives", "reduce_scatter data in collectives"}));
}

TEST(Profile, tells_group_ranks_and_bytes_of_a_collective) {
  for (const json& event : events_of_two_ranks())
    if (event.value("cat", "") == "collective" && event["args"]["bytes"] == 2048) {
      EXPECT_EQ(event["args"]["group"], "data");
      EXPECT_EQ(event["args"]["ranks"], 2);
      return;
    }
  ADD_FAILURE() << "there is no such collective";
}

TEST(Profile, labels_a_rank_with_what_its_passes_took) {
  StepProfile profile;
  profile.set_pass_times({.forward_s = 0.0012, .backward_input_s = 0.0023, .backward_weight_s = 0.0011});
  for (const json& event : json::parse("[" + profile.trace_events(0, {}) + "]"))
    if (event["name"] == "process_labels") {
      EXPECT_EQ(event["args"]["labels"], "F 1.2 ms, B 2.3 ms, W 1.1 ms");
    }
}

TEST(Profile, shows_clock_and_temperature_of_a_device_that_tells_them) {
  StepProfile profile;
  const auto counters = [&] {
    std::map<std::string, json> found;
    for (const json& event : json::parse("[" + profile.trace_events(3, {}) + "]"))
      if (event["ph"] == "C") found[event["name"]] = event;
    return found;
  };
  EXPECT_TRUE(counters().empty());
  kernels::DeviceReading reading{
      .sm_clock_mhz = 1755, .max_sm_clock_mhz = 1980, .temperature_c = 61, .throttled_by = {}};
  reading.throttled_by.add(kernels::Throttle::power_cap);
  profile.set_reading({.time_s = 1000.25, .reading = reading});
  const auto found = counters();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.at("SM clock")["args"], (json{{"MHz", 1755}}));
  EXPECT_EQ(found.at("temperature")["args"], (json{{"°C", 61}}));
  EXPECT_EQ(found.at("SM clock")["pid"], 3);
  EXPECT_EQ(found.at("SM clock")["ts"], 1000.25e6);
  EXPECT_NE(profile.trace_events(3, {}).find("W 0 ms, SM clock 1755 of 1980 MHz, 61 °C, power_cap"),
            std::string::npos);
}

TEST(Profile, holds_the_planned_order) {
  EXPECT_EQ(events_of_two_ranks().front()["args"]["planned"], "F0 F1 B0");
}

}  // namespace
}  // namespace tenax::app
