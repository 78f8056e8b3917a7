// `tenax schedule` from its arguments to its files and its status.
#include "app/commands/commands.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/error.hpp"

namespace tenax::app {
namespace {

using nlohmann::json;

class ScheduleCommand : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::temp_directory_path() /
                 ("tenax-schedule-" + std::string(test->name()) + "-" + std::to_string(getpid()));
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    instance_ = {{"stages", 4},
                 {"microbatches", 12},
                 {"forward", std::vector<double>(4, 10)},
                 {"backward_input", std::vector<double>(4, 10)},
                 {"backward_weight", std::vector<double>(4, 10)},
                 {"link_delay", {20, 0, 0}},
                 {"activation_limit", nullptr},
                 {"weight_share", 0}};
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string instance() const { return write("instance.json", instance_.dump()); }
  json read(const std::string& name) const { return json::parse(std::ifstream(path(name))); }

  /// What the command prints.
  static std::string run(std::vector<std::string> arguments) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(schedule_command(arguments), 0);
    std::fflush(stdout);
    return testing::internal::GetCapturedStdout();
  }
  static void expect_status(int status, const std::vector<std::string>& parts,
                            std::vector<std::string> arguments) {
    try {
      schedule_command(arguments);
      ADD_FAILURE() << "nothing was refused";
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.exit_status(), status) << error.what();
      for (const std::string& part : parts)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << part << " not in: " << error.what();
    }
  }
  json plan(const std::string& policy, const std::string& out = "out.json") const {
    run({instance(), "--policy", policy, "--budget-evaluations", "3000", "--out", path(out)});
    return read(out);
  }

  std::filesystem::path directory_;
  json instance_;
};

TEST_F(ScheduleCommand, plans_each_policy_and_evaluates_its_file_to_the_same) {
  for (const auto& [policy, makespan_ms] :
       {std::pair{"gpipe", 490.0}, {"1f1b", 650.0}, {"zero_bubble", 440.0}, {"adaptive", 410.0}}) {
    const json planned = plan(policy);
    EXPECT_DOUBLE_EQ(planned["makespan_ms"].get<double>(), makespan_ms) << policy;
    const json evaluated = json::parse(run({instance(), "--evaluate", path("out.json"), "--json"}));
    EXPECT_EQ(evaluated, planned) << policy;
  }
}

TEST_F(ScheduleCommand, writes_every_field_of_a_schedule_file) {
  const json planned = plan("zero_bubble");
  EXPECT_EQ(planned["stages"].size(), 4u);
  EXPECT_EQ(planned["stages"][0]["ops"].size(), 36u);
  EXPECT_EQ(planned["stages"][3]["ops"][1], json::array({"B", 0}));
  EXPECT_EQ(planned["warmup"], json({7, 5, 3, 1}));
  EXPECT_EQ(planned["peak_activations"], json({7, 5, 3, 1}));
  EXPECT_EQ(planned["optimal"], false);
  EXPECT_DOUBLE_EQ(planned["lower_bound_ms"].get<double>(), 410);
  EXPECT_EQ(planned["bubble_rate"].size(), 4u);
  EXPECT_EQ(plan("adaptive")["optimal"], true);
  EXPECT_EQ(plan("gpipe")["stages"][0]["ops"][12], json::array({"BW", 0}));
}

TEST_F(ScheduleCommand, counts_the_share_of_an_activation_kept_until_w) {
  instance_["weight_share"] = 0.5;
  const json planned = plan("zero_bubble");
  EXPECT_GT(planned["peak_activations"][3].get<double>(), 1);
}

TEST_F(ScheduleCommand, draws_the_schedule) {
  run({instance(), "--policy", "1f1b", "--out", path("out.json"), "--svg", path("out.svg")});
  std::string first;
  std::getline(std::ifstream(path("out.svg")), first);
  EXPECT_TRUE(first.starts_with("<svg "));
}

TEST_F(ScheduleCommand, is_deterministic_for_a_seed_and_a_budget_in_evaluations) {
  instance_["link_delay"] = {35, 17, 23};
  EXPECT_EQ(plan("adaptive", "a.json"), plan("adaptive", "b.json"));
}

TEST_F(ScheduleCommand, evaluates_with_a_send_queue) {
  plan("zero_bubble");
  const auto makespan = [&](const std::string& queue) {
    return json::parse(run(
        {instance(), "--evaluate", path("out.json"), "--send-queue", queue, "--json"}))["makespan_ms"]
        .get<double>();
  };
  EXPECT_GT(makespan("1"), 440);
  EXPECT_GE(makespan("1"), makespan("2"));
}

TEST_F(ScheduleCommand, accepts_weight_gradients_in_any_order_and_absent_defaults) {
  instance_ = {{"stages", 1},           {"microbatches", 2},      {"forward", {1.5}},
               {"backward_input", {1}}, {"backward_weight", {1}}, {"link_delay", json::array()}};
  const std::string order =
      write("order.json", R"({"stages":[{"ops":[["F",0],["F",1],["B",0],["B",1],["W",1],["W",0]]}]})");
  const json evaluated = json::parse(run({instance(), "--evaluate", order, "--json"}));
  EXPECT_DOUBLE_EQ(evaluated["makespan_ms"].get<double>(), 7);
  EXPECT_EQ(evaluated["optimal"], true);
}

TEST_F(ScheduleCommand, refuses_orders_with_status_1_and_the_reason) {
  instance_ = {{"stages", 2},
               {"microbatches", 1},
               {"forward", {1, 1}},
               {"backward_input", {1, 1}},
               {"backward_weight", {1, 1}},
               {"link_delay", {0}},
               {"activation_limit", {1, 1}}};
  const auto refuse = [&](const std::string& first, const std::string& second, const std::string& reason) {
    const std::string order =
        write("order.json", "{\"stages\":[{\"ops\":[" + first + "]},{\"ops\":[" + second + "]}]}");
    expect_status(1, {"order.json", reason}, {instance(), "--evaluate", order});
  };
  const std::string whole = R"(["F",0],["B",0],["W",0])";
  refuse(whole, R"(["F",0],["B",0])", "stage 1: W0 is missing");
  refuse(whole, R"(["F",0],["F",0],["B",0],["W",0])", "stage 1: F0 is repeated");
  refuse(whole, R"(["B",0],["F",0],["W",0])", "stage 1: B0 comes before its F");
  refuse(whole, R"(["F",1],["B",0],["W",0])", "stage 1: F1 is not among");
  refuse(whole, R"(["X",0])", "stage 1: an op must be");
  refuse(whole, R"(["F",0.5])", "stage 1: an op must be");
  instance_["microbatches"] = 2;
  refuse(R"(["F",0],["F",1],["BW",0],["BW",1])", R"(["F",0],["BW",0],["F",1],["BW",1])",
         "stage 0: holds 2.000000 activations, more than the limit of 1");
  refuse(R"(["F",0],["BW",0],["F",1],["BW",1])", R"(["F",1],["BW",1],["F",0],["BW",0])", "deadlocks");
  expect_status(1, {"one.json", "has 1 stages where the instance has 2"},
                {instance(), "--evaluate", write("one.json", R"({"stages":[{"ops":[]}]})")});
}

TEST_F(ScheduleCommand, refuses_malformed_files_with_status_1) {
  const auto refuse = [&](const std::string& name, const json& value, const std::string& reason) {
    json wrong = instance_;
    wrong[name] = value;
    expect_status(1, {"wrong.json", reason},
                  {write("wrong.json", wrong.dump()), "--policy", "gpipe", "--out", path("out.json")});
  };
  refuse("stages", 0, "\"stages\"");
  refuse("microbatches", 1.5, "\"microbatches\"");
  refuse("forward", {1, 2}, "\"forward\" must be a list of 4");
  refuse("backward_input", {1, 2, 3, "4"}, "\"backward_input\"");
  refuse("backward_weight", {1, 2, 3, -4}, "\"backward_weight\"");
  refuse("link_delay", {1, 2, 3, 4}, "\"link_delay\" must be a list of 3");
  refuse("activation_limit", {1, 2, 3, 0}, "\"activation_limit\"");
  refuse("weight_share", 1.5, "\"weight_share\"");
  refuse("link_delays", {1, 2, 3}, "\"link_delays\" is not a member");
  expect_status(1, {"absent.json"}, {path("absent.json"), "--policy", "gpipe", "--out", path("out.json")});
  expect_status(1, {"text.json", "not valid JSON"},
                {write("text.json", "{"), "--policy", "gpipe", "--out", path("out.json")});
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& text :
       {"{\"stages\":" + deep + "}", "{\"stages\":1,\"weight_share\":" + deep + "}", deep})
    expect_status(1, {"deep.json", "nests more than 64 levels deep"},
                  {write("deep.json", text), "--policy", "gpipe", "--out", path("out.json")});
  expect_status(1, {"deep.json", "nests more than 64 levels deep"},
                {instance(), "--evaluate", write("deep.json", "{\"stages\":[{\"ops\":[" + deep + "]}]}")});
  expect_status(1, {"list.json"}, {instance(), "--evaluate", write("list.json", "[]")});
  instance_.erase("link_delay");
  expect_status(1, {"\"link_delay\" is missing"},
                {instance(), "--policy", "gpipe", "--out", path("out.json")});
}

TEST_F(ScheduleCommand, refuses_a_policy_that_does_not_fit_memory_with_status_1) {
  instance_["activation_limit"] = {4, 4, 4, 4};
  expect_status(1, {"instance.json", "holds 12"},
                {instance(), "--policy", "gpipe", "--out", path("out.json")});
  for (const char* policy : {"1f1b", "zero_bubble", "adaptive"}) {
    const auto schedule = plan(policy);
    for (const auto& peak : schedule["peak_activations"]) EXPECT_LE(peak.get<double>(), 4);
  }
}

TEST_F(ScheduleCommand, refuses_a_file_that_cannot_be_written_with_status_1) {
  expect_status(1, {"cannot be written"},
                {instance(), "--policy", "gpipe", "--out", path("absent/out.json")});
}

TEST_F(ScheduleCommand, refuses_a_wrong_command_line_with_status_2) {
  const std::string file = instance(), out = path("out.json");
  expect_status(2, {"--policy", "--evaluate"}, {file});
  expect_status(2, {"--out"}, {file, "--policy", "gpipe"});
  expect_status(2, {"\"zb\""}, {file, "--policy", "zb", "--out", out});
  expect_status(
      2, {"exclude each other"},
      {file, "--policy", "adaptive", "--out", out, "--budget-ms", "1", "--budget-evaluations", "1"});
  expect_status(2, {"--budget-ms"}, {file, "--policy", "adaptive", "--out", out, "--budget-ms", "-1"});
  expect_status(2, {"--send-queue"}, {file, "--evaluate", out, "--send-queue", "0"});
  expect_status(2, {"--send-queue"}, {file, "--policy", "gpipe", "--out", out, "--send-queue", "1"});
  expect_status(2, {"--out"}, {file, "--evaluate", out, "--out", out});
}

}  // namespace
}  // namespace tenax::app
