// Costs as a run has recorded them, and fail-slows as they were studied.
#include "app/simulation/simulated_costs.hpp"

#include <gtest/gtest.h>

#include <string>

#include "app/simulation/fail_slow_model.hpp"
#include "io/run/ledger.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::app {
namespace {

class SimulatedCostsTest : public io::DirectoryTest {
 protected:
  void write(const std::string& file, const std::string& text) const {
    io::write_file_atomically(directory_ / file, text);
  }
  static io::Deck deck() {
    io::Deck deck;
    deck.replicas.dead_ms = 2000;
    deck.replicas.join_wait_ms = 500;
    return deck;
  }
};

TEST_F(SimulatedCostsTest, are_the_medians_of_what_a_run_recorded) {
  write("metrics.jsonl",
        "{\"step\": 0, \"loss\": 1, \"seconds\": 9}\n{\"step\": 1, \"loss\": 1, \"seconds\": "
        "0.2}\n{\"step\": 2, \"loss\": 1, \"seconds\": 0.3}\n");
  write("events.jsonl",
        "{\"event\": \"epoch\", \"reconfigure_seconds\": 0}\n"
        "{\"event\": \"replica_lost\", \"detect_seconds\": 1.1}\n"
        "{\"event\": \"replica_lost\", \"reason\": \"given_up\", \"detect_seconds\": 0}\n"
        "{\"event\": \"epoch\", \"reconfigure_seconds\": 0.25}\n"
        "{\"event\": \"replica_join\", \"seconds\": 5, \"state_seconds\": 2, \"first_step_seconds\": 0.5}\n"
        "torn");
  const SimulatedCosts costs = measured_costs(directory_, deck());
  EXPECT_EQ(costs.step_s, 0.3);
  EXPECT_EQ(costs.detect_s, std::vector{1.1});
  EXPECT_EQ(costs.reconfigure_s, 0.25);
  EXPECT_EQ(costs.state_s, 2);
  EXPECT_EQ(costs.restart_s, 3);
  EXPECT_EQ(costs.first_step_s, 0.5);
  EXPECT_EQ(costs.dead_s, 2);
  EXPECT_EQ(costs.join_wait_s, 0.5);
}

/// Twelve steps of a second each. Two follow a checkpoint and take 0.3 and 0.5 s longer.
TEST_F(SimulatedCostsTest, have_of_a_checkpoint_what_the_run_lost_to_it) {
  double now_s = 1000;
  std::string events =
      "{\"time\": 900, \"event\": \"checkpoint\", \"seconds\": 9, \"bytes\": 8}\n"  // of an earlier one
      "{\"time\": 1000, \"event\": \"launch\", \"adopted\": 0}\n";
  std::string metrics;
  io::LedgerWriter ledger(directory_);
  ledger.append({now_s, io::LedgerEpoch{1, 0, {{0, 1, "a"}}, "start"}});
  for (int step = 0; step < 12; ++step) {
    const bool saves = step == 4 || step == 8;
    now_s += step == 4 ? 1.3 : step == 8 ? 1.5 : 1;
    ledger.append(
        {now_s,
         io::LedgerCommit{
             .step = step, .epoch = 1, .first_sample = 8 * step, .samples = 8, .parts = {{0, 8 * step, 8}}}});
    metrics += "{\"step\": " + std::to_string(step) + ", \"loss\": 1, \"seconds\": 1}\n";
    if (saves)
      events += "{\"time\": " + std::to_string(now_s - 0.1) +
                ", \"event\": \"checkpoint\", \"seconds\": 0.2, \"bytes\": 8}\n";
  }
  write("metrics.jsonl", metrics);
  write("events.jsonl", events);
  EXPECT_NEAR(measured_costs(directory_, deck()).checkpoint_s, 0.4, 1e-3);
}

TEST_F(SimulatedCostsTest, of_a_run_without_steps_are_a_wrong_option) {
  try {
    measured_costs(directory_, deck());
    FAIL();
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
  }
}

// Greyhound, table 1: the share of a job's time that is lost, of all jobs together.
TEST(FailSlowModel, loses_as_much_as_the_study_found) {
  struct Row {
    int ranks;
    double jobs, longer;
  };
  for (const Row& row :
       {Row{4, 6.0 / 392, 0.1179}, Row{32, 43.0 / 107, 0.1545}, Row{1024, 16.0 / 27, 0.3459}}) {
    const FailSlowModel model = FailSlowModel::of_job(row.ranks);
    const double loss = (model.least_loss + model.most_loss) / 2;
    EXPECT_NEAR(model.duration_s / model.between_s * loss, row.jobs * row.longer / (1 + row.longer), 1e-9)
        << row.ranks;
  }
}

}  // namespace
}  // namespace tenax::app
