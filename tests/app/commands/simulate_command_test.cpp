#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands/commands.hpp"
#include "tests/app/small_deck.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::app {
namespace {

class SimulateCommand : public io::DirectoryTest {
 protected:
  SimulateCommand() {
    std::ofstream(deck_) << "[device]\nkind = \"emulated\"\nforward_ms = 1\nbackward_input_ms = "
                            "1\nbackward_weight_ms = 1\n[parallel]\nreplicas = "
                            "2\n[batch]\nglobal_batch_size = 16\n[run]\ntrain_steps = 10\n";
  }
  std::string output_of(Arguments arguments) const {
    arguments.insert(arguments.begin(), deck_.string());
    testing::internal::CaptureStdout();
    EXPECT_EQ(simulate_command(arguments), 0);
    return testing::internal::GetCapturedStdout();
  }
  std::string fault_of(Arguments arguments) const {
    arguments.insert(arguments.begin(), deck_.string());
    try {
      simulate_command(arguments);
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
      return error.what();
    }
    return "none";
  }
  std::filesystem::path deck_ = directory_ / "deck.toml";
};

TEST_F(SimulateCommand, prints_the_contracts_members) {
  const auto report = nlohmann::json::parse(
      output_of({"--replicas", "3", "--ranks", "1024", "--spares", "1", "--hours", "5", "--seeds", "2",
                 "--failure-minutes", "20", "--repair-minutes=5", "--json"}));
  EXPECT_EQ(report["replicas"], 3);
  EXPECT_EQ(report["ranks"], 1024);
  EXPECT_EQ(report["failure_minutes"], 20);
  EXPECT_GT(report["effective_percent"], report["synchronous"]["effective_percent"]);
  EXPECT_GE(report["effective_percent"], report["worst_effective_percent"]);
  double lost_s = 0;
  for (const auto& [cause, seconds] : report["lost_seconds"].items()) lost_s += seconds.get<double>();
  EXPECT_NEAR(lost_s / (5 * 3600), 1 - report["effective_percent"].get<double>() / 100, 1e-6);
  ASSERT_EQ(report["variants"].size(), 4U);
  EXPECT_EQ(report["variants"][0]["name"], "one_more_replica");
}

TEST_F(SimulateCommand, takes_what_is_left_out_from_the_deck) {
  const auto report = nlohmann::json::parse(output_of({"--seeds", "1", "--hours", "1", "--json"}));
  EXPECT_EQ(report["replicas"], 2);
  EXPECT_EQ(report["ranks"], 1);
  EXPECT_EQ(report["repair_minutes"], 10);
}

TEST_F(SimulateCommand, says_it_in_words_and_draws_it) {
  const std::string svg = (directory_ / "run.svg").string();
  const std::string text =
      output_of({"--seeds", "1", "--hours", "3", "--failure-minutes", "10", "--svg", svg});
  EXPECT_NE(text.find("effective time"), std::string::npos);
  EXPECT_NE(text.find("half the repair time"), std::string::npos);
  std::ostringstream drawn;
  drawn << std::ifstream(svg).rdbuf();
  EXPECT_EQ(drawn.str().find("<svg"), 0U);
  EXPECT_NE(drawn.str().find("replica 1"), std::string::npos);
}

TEST_F(SimulateCommand, refuses_what_makes_no_run) {
  EXPECT_NE(fault_of({"--replicas", "0"}).find("--replicas must be an integer in [1, 1024]"),
            std::string::npos);
  EXPECT_NE(fault_of({"--failure-minutes", "-1"}).find("--failure-minutes"), std::string::npos);
  EXPECT_NE(fault_of({"--hours", "many"}).find("--hours"), std::string::npos);
  EXPECT_NE(fault_of({"--costs", directory_.string()}).find("no run that has trained"), std::string::npos);
  EXPECT_NE(fault_of({"--spare", "1"}).find("did you mean --spares?"), std::string::npos);
  EXPECT_NE(fault_of({"--svg", (directory_ / "none" / "x.svg").string(), "--hours", "1", "--seeds", "1"})
                .find("--svg"),
            std::string::npos);
}

}  // namespace
}  // namespace tenax::app
