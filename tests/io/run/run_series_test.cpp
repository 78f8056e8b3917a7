#include "io/run/run_series.hpp"

#include <cmath>

#include "io/run/trace_file.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(RunSeries, reads_training_and_validation_lines_and_passes_over_torn_ones) {
  const TemporaryFolder folder;
  folder.write(
      "metrics.jsonl",
      "{\"step\": 0, \"loss\": 5.5, \"grad_norm\": 1, \"lr\": 0.1, \"tokens\": 64, \"seconds\": 0.5, "
      "\"tokens_per_second\": 128}\n"
      "{\"step\": 1, \"loss\": null, \"grad_norm\": null, \"lr\": 0.2, \"tokens\": 64, \"seconds\": 0.25, "
      "\"tokens_per_second\": 256}\n"
      "{\"step\": 2, \"validation_loss\": 4.5}\n"
      "{\"step\": 2, \"lo");
  const RunSeries series = read_series(folder.path());
  EXPECT_EQ(series.step, (std::vector<double>{0, 1}));
  EXPECT_EQ(series.loss.front(), 5.5);
  EXPECT_TRUE(std::isnan(series.loss.back()));
  EXPECT_EQ(series.tokens_per_second, (std::vector<double>{128, 256}));
  EXPECT_EQ(series.validation_step, (std::vector<double>{2}));
  EXPECT_EQ(series.validation_loss, (std::vector<double>{4.5}));
  EXPECT_EQ(series.tokens_seen, (std::vector<double>{64, 128}));
}

TEST(RunSeries, events_keep_their_details) {
  const TemporaryFolder folder;
  folder.write("events.jsonl",
               "{\"time\": 10.5, \"step\": 0, \"event\": \"start\", \"ranks\": 4}\n"
               "{\"time\": 12, \"step\": 9, \"event\": \"end\", \"reason\": \"signal\"}\n"
               "{\"time\": 13, \"step\": 9, \"event\": \"delegate\", \"stages\": [1, 2]}\n"
               "{\"time\": 14, \"step\": 9, \"event\": \"straggler\", \"stage\": 3}\n"
               "{\"time\": 15, \"step\": 9, \"event\": \"straggler\", \"stages\": \"odd\", \"rank\": 5}\n");
  const auto events = read_events(folder.path());
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].place, "");
  EXPECT_EQ(events[2].place, "link 1-2");
  EXPECT_EQ(events[3].place, "stage 3");
  EXPECT_EQ(events[4].place, "rank 5");
  EXPECT_EQ(events[0].time_s, 10.5);
  EXPECT_EQ(events[0].details, "ranks 4");
  EXPECT_EQ(events[1].event, "end");
  EXPECT_EQ(events[1].reason, "signal");
  EXPECT_EQ(events[1].step, 9);
}

TEST(RunSeries, names_the_components_that_have_become_slow) {
  const TemporaryFolder folder;
  folder.write("events.jsonl",
               R"({"time": 1, "event": "onset", "iteration": 40, "ratio": 1.5}
{"time": 2, "event": "fail_slow", "cause": "several", "components": [{"kind": "rank", "rank": 5, "cause": "compute"}, {"kind": "link", "ranks": [3, 7], "group": "data"}]}
{"time": 3, "event": "healed", "kind": "link", "ranks": [3, 7], "group": "data", "factor": 1.01}
{"time": 4, "event": "fail_slow", "replica": 2, "cause": "none", "components": []}
{"time": 5, "event": "fail_slow", "components": "odd", "ranks": [3]}
)");
  const auto events = read_events(folder.path());
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].place, "");
  EXPECT_EQ(events[1].place, "rank 5, link of ranks 3-7");
  EXPECT_EQ(events[2].place, "link of ranks 3-7");
  EXPECT_EQ(events[3].place, "replica 2");
  EXPECT_EQ(events[4].place, "");
}

TEST(RunSeries, knows_how_many_replicas_contributed_and_whose_events_are_whose) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl",
               "{\"step\": 0, \"loss\": 5.5, \"replicas\": 3}\n"
               "{\"step\": 1, \"loss\": 5.4}\n");
  const RunSeries series = read_series(folder.path());
  EXPECT_EQ(series.replicas.front(), 3);
  EXPECT_TRUE(std::isnan(series.replicas.back()));
  folder.write("events.jsonl", "{\"time\": 9, \"event\": \"replica_lost\", \"replica\": 1, \"rank\": 2}\n");
  std::filesystem::create_directory(folder.path() / "replica-0");
  folder.write("replica-0/events.jsonl", "{\"time\": 10, \"event\": \"end\", \"reason\": \"failed\"}\n");
  const auto events = read_events(folder.path());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].place, "replica 1, rank 2");
  EXPECT_FALSE(events[0].is_of_replica);
  EXPECT_TRUE(events[1].is_of_replica);
  EXPECT_EQ(events[1].details, "of replica 0, reason failed");
}

TEST(RunSeries, has_the_events_of_all_replicas_also_where_some_left_none) {
  const TemporaryFolder folder;
  for (const char* name : {"replica-0", "replica-2", "replica-10", "replica-x"}) {
    std::filesystem::create_directory(folder.path() / name);
    if (std::string(name) != "replica-0")
      folder.write(std::string(name) + "/events.jsonl", "{\"time\": 10, \"event\": \"reschedule\"}\n");
  }
  const auto events = read_events(folder.path());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].details, "of replica 2");
  EXPECT_EQ(events[1].details, "of replica 10");
}

TEST(TraceFile, times_begin_with_the_first_event_of_all_ranks) {
  const TemporaryFolder folder;
  const TraceFile trace = read_trace(folder.write("trace.json",
                                                  R"({"otherData":{"step":7},"traceEvents":[
        {"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"rank 1","stage":1,"data":0,"tensor":0,"planned":"F0 B0"}},
        {"name":"B0","cat":"B","ph":"X","pid":1,"tid":0,"ts":130.5,"dur":4,"args":{"microbatch":0}},
        {"name":"F0","cat":"F","ph":"X","pid":1,"tid":0,"ts":120,"dur":2,"args":{"microbatch":0}},
        {"name":"SM clock","cat":"device","ph":"C","pid":1,"tid":0,"ts":90,"args":{"MHz":1755}},
        {"name":"message","cat":"message","ph":"s","pid":1,"tid":0,"ts":121,"id":3},
        {"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"rank 0","stage":0,"data":0,"tensor":0}},
        {"name":"F0","cat":"F","ph":"X","pid":0,"tid":0,"ts":100,"dur":3.5,"args":{"microbatch":0}}]})"));
  EXPECT_EQ(trace.step, 7);
  ASSERT_EQ(trace.ranks.size(), 2U);
  EXPECT_EQ(trace.ranks[1].stage, 1);
  EXPECT_EQ(trace.ranks[1].planned, "F0 B0");
  ASSERT_EQ(trace.ranks[1].ops.size(), 2U);
  EXPECT_EQ(trace.ranks[1].ops[0].name, "F0");
  EXPECT_EQ(trace.ranks[1].ops[1].start_us, 30.5);
  EXPECT_EQ(trace.ranks[0].ops[0].start_us, 0);
}

TEST(TraceFile, what_is_no_trace_is_refused_by_name) {
  const TemporaryFolder folder;
  for (const char* text : {"{", "{}", R"({"otherData":{"step":1},"traceEvents":[{"ph":"X"}]})"}) {
    const auto file = folder.write("trace.json", text);
    try {
      read_trace(file);
      ADD_FAILURE() << text;
    } catch (const kernels::Error& error) {
      EXPECT_NE(std::string(error.what()).find(file.string()), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tenax::io::test
