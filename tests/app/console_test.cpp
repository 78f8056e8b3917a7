// The bar below a run's table, at the widths that terminals have.
#include "app/console.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "app/training/step_lines.hpp"

namespace tenax::app {
namespace {

StepReport report() {
  StepReport report;
  report.step = 500;
  report.train_steps = 1000;
  report.loss = 2.34567;
  report.tokens_per_second = 61234.5;
  report.eta_s = 63;
  return report;
}

TEST(ProgressLine, is_never_more_than_one_line_and_always_says_how_far_the_run_is) {
  StepReport long_run = report();
  long_run.step = 123456;
  long_run.train_steps = 1000000;
  long_run.eta_s = 1e6;
  for (int columns = 20; columns <= 250; ++columns)
    for (const StepReport& of : {report(), long_run}) {
      const std::string line = progress_line(of, columns);
      EXPECT_LT(line.size(), static_cast<std::size_t>(columns)) << line;
      EXPECT_NE(line.find(std::to_string(of.step) + "/" + std::to_string(of.train_steps)), std::string::npos);
    }
}

TEST(ProgressLine, fills_the_terminal_and_holds_loss_and_tokens_a_second_where_there_is_room) {
  for (const int columns : {60, 80, 200}) {
    const std::string line = progress_line(report(), columns);
    EXPECT_EQ(line.size(), static_cast<std::size_t>(columns - 1));
    EXPECT_TRUE(line.ends_with("] 500/1000, loss 2.3457, 61234 tokens/s, 1:03 left")) << line;
    const auto end = std::find(line.begin(), line.end(), ']');
    const auto done = std::count(line.begin(), end, '#'), open = std::count(line.begin(), end, '.');
    EXPECT_NEAR(static_cast<double>(done), static_cast<double>(open), 1) << line;
  }
}

TEST(ProgressLine, leaves_out_the_rate_first_then_the_loss_then_the_time) {
  EXPECT_EQ(progress_line(report(), 45), "[####.....] 500/1000, loss 2.3457, 1:03 left");
  EXPECT_EQ(progress_line(report(), 30), "[###....] 500/1000, 1:03 left");
  EXPECT_EQ(progress_line(report(), 12), "500/1000");
}

TEST(ProgressLine, of_a_device_without_data_has_neither_loss_nor_rate) {
  StepReport emulated = report();
  emulated.has_data = false;
  EXPECT_TRUE(progress_line(emulated, 80).ends_with(".] 500/1000, 1:03 left"));
}

TEST(ValidationLine, has_a_loss_where_one_is_computed) {
  io::Deck deck;
  EXPECT_EQ(validation_line(deck, 3, 0), "validation after 3 steps: loss 0.00000, perplexity 1");
  deck.device.kind = io::DeviceKind::emulated;
  EXPECT_EQ(validation_line(deck, 3, std::numeric_limits<double>::quiet_NaN()),
            "validation after 3 steps: no loss, as passes compute nothing");
}

}  // namespace
}  // namespace tenax::app
