#include "io/run/iteration_times.hpp"

#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

std::string fault_of(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  folder.write(name, text);
  try {
    read_iteration_times(folder.path() / name);
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.exit_status(), 1);
    const std::string message = error.what();
    return message.substr(message.find(name));
  }
  return "none";
}

std::string metrics_of(int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i)
    text += "{\"step\":" + std::to_string(i) + ",\"loss\":null,\"seconds\":1}\n";
  return text;
}

std::vector<std::int64_t> masked_of(const IterationTimes& times) {
  std::vector<std::int64_t> masked;
  for (const IterationTime& time : times)
    if (time.is_masked) masked.push_back(time.iteration);
  return masked;
}

TEST(IterationTimes, come_from_the_named_columns_of_a_table) {
  const TemporaryFolder folder;
  folder.write(
      "a.csv",
      "# made up\nloss, seconds ,iteration,masked\r\n2.5,0.25,3,0\r\n\n# gap\n2.4,1e-3,7,1\n2,4,9,0");
  const IterationTimes times = read_iteration_times(folder.path() / "a.csv");
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(times[0].iteration, 3);
  EXPECT_EQ(times[0].seconds, 0.25);
  EXPECT_EQ(times[1].seconds, 1e-3);
  EXPECT_EQ(masked_of(times), (std::vector<std::int64_t>{7}));
}

TEST(IterationTimes, may_stand_behind_a_byte_order_mark) {
  const TemporaryFolder folder;
  folder.write("a.csv", "\xEF\xBB\xBFiteration,seconds\r\n1,1\r\n3,2\r\n");
  EXPECT_EQ(read_iteration_times(folder.path() / "a.csv").size(), 2U);
}

TEST(IterationTimes, name_the_line_of_a_table_that_is_wrong) {
  const TemporaryFolder folder;
  const std::string header = "iteration,seconds\n0,1\n";
  const std::string no_header = "expected a header that names the columns iteration and seconds";
  EXPECT_EQ(fault_of(folder, "a.csv", ""), "a.csv:1: " + no_header);
  EXPECT_EQ(fault_of(folder, "a.csv", "#\n0,1\n"), "a.csv:2: " + no_header);
  EXPECT_EQ(fault_of(folder, "a.csv", "seconds,iteration,seconds\n"),
            "a.csv:1: the header names seconds twice");
  EXPECT_EQ(fault_of(folder, "a.csv", header + "1.5,1\n"), "a.csv:3: iteration is no whole number");
  EXPECT_EQ(fault_of(folder, "a.csv", header + "1\n"), "a.csv:3: seconds is no number");
  EXPECT_EQ(fault_of(folder, "a.csv", header + "1,fast\n"), "a.csv:3: seconds is no number");
  for (const char* seconds : {"0", "-1", "nan", "inf"})
    EXPECT_EQ(fault_of(folder, "a.csv", header + "1," + seconds + "\n"),
              "a.csv:3: seconds must be finite and above 0");
  EXPECT_EQ(fault_of(folder, "a.csv", header + "0,1\n"), "a.csv:3: iterations must increase");
  EXPECT_EQ(fault_of(folder, "a.csv", "iteration,seconds,masked\n0,1,2\n"),
            "a.csv:2: masked is neither 0 nor 1");
}

TEST(IterationTimes, come_from_metrics_and_prefer_what_is_the_iterations_own) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl",
               "{\"step\":0,\"loss\":3,\"seconds\":2}\n{\"step\":1,\"validation_loss\":3}\n"
               "{\"step\":1,\"seconds\":2,\"iteration_seconds\":1.5,\"masked\":true}\n");
  const IterationTimes times = read_iteration_times(folder.path() / "metrics.jsonl");
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].seconds, 2);
  EXPECT_EQ(times[1].seconds, 1.5);
  EXPECT_TRUE(times[1].is_masked);
  EXPECT_EQ(fault_of(folder, "b.jsonl", "{\"step\":0,\"seconds\":null}\n"),
            "b.jsonl:1: seconds is no number");
  EXPECT_EQ(fault_of(folder, "b.jsonl", metrics_of(2) + "{\"step\":2,\"sec"),
            "b.jsonl:3: is not valid JSON (line 1, column 15)");
}

TEST(IterationTimes, of_a_run_are_masked_by_its_events) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl",
               metrics_of(40) + "{\"step\":40,\"sec");  // it is being written
  folder.write("events.jsonl",
               "{\"event\":\"start\",\"step\":0}\n"
               "{\"event\":\"checkpoint\",\"step\":10,\"seconds\":2.5}\n"
               "{\"event\":\"reschedule\",\"step\":20}\n"
               "{\"event\":\"resume\",\"step\":30}\n");
  const IterationTimes times = read_iteration_times(folder.path());
  ASSERT_EQ(times.size(), 40U);
  EXPECT_EQ(masked_of(times), (std::vector<std::int64_t>{10, 11, 12, 20, 21}));
  EXPECT_EQ(times[0].begins, LevelBegin::start);
  EXPECT_EQ(times[20].begins, LevelBegin::none);
  EXPECT_EQ(times[21].begins, LevelBegin::own_action);
  EXPECT_EQ(times[30].begins, LevelBegin::start);
}

// Their step is the first under them.
TEST(IterationTimes, of_a_run_begin_levels_with_its_mitigations) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", metrics_of(40));
  folder.write("events.jsonl", "{\"event\":\"mitigate\",\"step\":10}\n{\"event\":\"revert\",\"step\":20}\n");
  const IterationTimes times = read_iteration_times(folder.path());
  for (const std::size_t first : {10U, 20U}) EXPECT_EQ(times[first].begins, LevelBegin::own_action);
}

TEST(IterationTimes, of_a_run_begin_a_level_where_replicas_compute_more_than_before) {
  const TemporaryFolder folder;
  std::string metrics;
  for (int step = 0; step < 40; ++step)
    metrics += "{\"step\":" + std::to_string(step) +
               ",\"tokens\":1200,\"seconds\":1,\"replicas\":" + (step < 20 ? "3" : "2") +
               (step == 20 ? ",\"masked\":true}\n" : "}\n");
  folder.write("metrics.jsonl", metrics);
  folder.write("events.jsonl", "{\"event\":\"replica_lost\",\"step\":20}\n");
  const IterationTimes times = read_iteration_times(folder.path());
  for (std::size_t step = 0; step < times.size(); ++step)
    EXPECT_EQ(times[step].begins, step == 21 ? LevelBegin::other_work : LevelBegin::none) << step;
}

TEST(IterationTimes, of_a_run_begin_a_level_where_more_replicas_than_before_exchange) {
  const TemporaryFolder folder;
  std::string metrics;
  for (int step = 0; step < 40; ++step) {
    const int replicas = step < 20 ? 2 : 3;
    metrics += "{\"step\":" + std::to_string(step) + ",\"tokens\":" + std::to_string(400 * replicas) +
               ",\"seconds\":1,\"replicas\":" + std::to_string(replicas) + "}\n";
  }
  folder.write("metrics.jsonl", metrics);
  const IterationTimes times = read_iteration_times(folder.path());
  for (std::size_t step = 0; step < times.size(); ++step)
    EXPECT_EQ(times[step].begins, step == 20 ? LevelBegin::other_work : LevelBegin::none) << step;
}

TEST(IterationTimes, say_which_file_cannot_be_read) {
  const TemporaryFolder folder;
  EXPECT_THROW(read_iteration_times(folder.path() / "absent.csv"), kernels::Error);
  EXPECT_THROW(read_iteration_times(folder.path()), kernels::Error) << "no metrics.jsonl";
}

}  // namespace
}  // namespace tenax::io::test
