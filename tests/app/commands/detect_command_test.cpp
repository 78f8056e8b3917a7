#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "app/commands/commands.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::app {
namespace {

using nlohmann::json;

class DetectCommand : public io::DirectoryTest {
 protected:
  /// A table of iterations of one second that take 1.5 from 60 to 99.
  std::string slow_from_60_to_99(int iterations, const std::string& end = "") const {
    std::string text = "iteration,seconds\n";
    for (int i = 0; i < iterations; ++i) {
      const double noise = 1 + 0.002 * (i * i % 7 - 3);
      text += std::to_string(i) + "," + std::to_string(i >= 60 && i < 100 ? 1.5 * noise : noise) + "\n";
    }
    return write("table.csv", text + end);
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (directory_ / name).string();
    std::ofstream(path) << text;
    return path;
  }

  struct Outcome {
    int status = 0;
    std::vector<json> lines;
    std::string errors;
  };
  static Outcome detect(const Arguments& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome{.status = detect_command(arguments), .lines = {}, .errors = {}};
    std::istringstream out(testing::internal::GetCapturedStdout());
    for (std::string line; std::getline(out, line);) outcome.lines.push_back(json::parse(line));
    outcome.errors = testing::internal::GetCapturedStderr();
    return outcome;
  }
};

TEST_F(DetectCommand, prints_the_contracts_members_of_each_change) {
  const std::string file = slow_from_60_to_99(160);
  const Outcome outcome = detect({file});
  EXPECT_EQ(outcome.status, 0);
  ASSERT_EQ(outcome.lines.size(), 2U);
  const json& onset = outcome.lines.front();
  EXPECT_EQ(onset["file"], file);
  EXPECT_EQ(onset["iteration"], 60);
  EXPECT_EQ(onset["event"], "onset");
  EXPECT_EQ(onset["detected_at"], 62);
  EXPECT_NEAR(onset["ratio"], 1.5, 0.02);
  EXPECT_NEAR(onset["before_s"], 1, 0.01);
  EXPECT_NEAR(onset["after_s"], 1.5, 0.02);
  EXPECT_GE(onset["probability"], 0.9);
  EXPECT_FALSE(onset.contains("step"));
  EXPECT_EQ(outcome.lines.back()["event"], "relief");
  EXPECT_EQ(outcome.lines.back()["iteration"], 100);
}

TEST_F(DetectCommand, prints_nothing_where_nothing_changed) {
  const Outcome outcome = detect({slow_from_60_to_99(50)});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.lines.empty());
}

TEST_F(DetectCommand, says_where_a_run_of_tenax_has_the_times_that_its_calls_do_not_show) {
  const std::string log = write("rank-0.csv", "seconds,call,bytes,ranks\n1,MPI_Send,8,2\n2,MPI_Recv,4,2\n");
  EXPECT_NE(detect({log}).errors.find("no period (of a run of tenax give its directory"), std::string::npos);
}

TEST_F(DetectCommand, is_causal) {
  const std::vector<json> all = detect({slow_from_60_to_99(160)}).lines;
  for (int length = 20; length < 160; ++length) {
    std::vector<json> expected;
    for (const json& line : all)
      if (line["detected_at"] < length) expected.push_back(line);
    EXPECT_EQ(detect({slow_from_60_to_99(length)}).lines, expected) << length;
  }
}

TEST_F(DetectCommand, tells_the_line_of_a_bad_file_and_goes_through_the_others) {
  const std::string bad = write("bad.csv", "iteration,seconds\n0,1\n1,nan\n"), good = slow_from_60_to_99(160);
  const Outcome outcome = detect({bad, good, "absent.csv"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.lines.size(), 2U);
  EXPECT_EQ(outcome.errors.find(bad + ":3: seconds must be finite and above 0\n"), 0U) << outcome.errors;
  EXPECT_NE(outcome.errors.find("absent.csv: cannot be read"), std::string::npos) << outcome.errors;
}

TEST_F(DetectCommand, reads_a_run_directory_and_names_the_step) {
  std::string metrics;
  for (int i = 0; i < 120; ++i)
    metrics += "{\"step\":" + std::to_string(i) + ",\"loss\":1,\"seconds\":" + (i < 80 ? "1" : "2") + "}\n";
  write("metrics.jsonl", metrics);
  const Outcome outcome = detect({directory_.string()});
  ASSERT_EQ(outcome.lines.size(), 1U);
  EXPECT_EQ(outcome.lines[0]["step"], 80);
  EXPECT_EQ(outcome.lines[0]["iteration"], 80);
}

TEST_F(DetectCommand, infers_the_iterations_of_a_call_log) {
  std::string text = "seconds,call,bytes,ranks\n";
  double time_s = 0;
  for (int i = 0; i < 120; ++i)
    for (const int bytes : {4096, 4096, 64, 1024}) {
      text += std::to_string(time_s) + ",MPI_Allreduce," + std::to_string(bytes) + ",4\n";
      time_s += i < 80 ? 0.25 : 0.5;
    }
  const Outcome outcome = detect({write("rank-0.csv", text)});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  ASSERT_EQ(outcome.lines.size(), 1U);
  EXPECT_NEAR(outcome.lines[0]["iteration"], 80, 1);
  EXPECT_NEAR(outcome.lines[0]["after_s"], 2, 0.05);
}

TEST_F(DetectCommand, says_of_a_call_log_without_iterations_that_it_has_none_with_status_0) {
  const std::string log =
      write("rank-0.csv", "seconds,call,bytes,ranks\n1,MPI_Bcast,8,4\n2,MPI_Barrier,0,4\n");
  const Outcome outcome = detect({log, slow_from_60_to_99(80)});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.lines.size(), 1U) << "of the other file";
  EXPECT_EQ(outcome.errors.find("tenax: " + log + ": its 2 calls show no iterations"), 0U) << outcome.errors;
}

TEST_F(DetectCommand, has_the_papers_baselines_and_options) {
  const std::string file = slow_from_60_to_99(160);
  for (const char* method : {"window", "raw"}) {
    const Outcome outcome = detect({file, "--method", method});
    ASSERT_GE(outcome.lines.size(), 2U) << method;
    EXPECT_EQ(outcome.lines[0]["iteration"], 60) << method;
  }
  EXPECT_TRUE(detect({file, "--min-change", "0.6"}).lines.empty());
  EXPECT_EQ(detect({file, "--warmup", "70"}).lines.size(), 1U);
}

TEST_F(DetectCommand, refuses_a_wrong_command_line) {
  const std::vector<Arguments> wrong = {{},
                                        {"a", "--method", "best"},
                                        {"a", "--min-change", "0"},
                                        {"a", "--hazard", "1"},
                                        {"a", "--warmup", "-1"},
                                        {"a", "--json"}};
  for (const Arguments& arguments : wrong) try {
      detect_command(arguments);
      ADD_FAILURE() << "no error";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
    }
}

}  // namespace
}  // namespace tenax::app
