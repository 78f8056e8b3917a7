#include "io/run/metrics_lines.hpp"

#include "io/run/run_files.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(MetricsLines, tell_training_steps_from_validations) {
  EXPECT_EQ(metrics_line("{\"step\": 12, \"loss\": 2.5}\n")->step, 12);
  EXPECT_FALSE(metrics_line("{\"step\": 12, \"loss\": 2.5}\n")->is_validation);
  EXPECT_TRUE(metrics_line("{\"step\": 3, \"validation_loss\": null}\n")->is_validation);
}

TEST(MetricsLines, may_be_written_by_others) {
  const auto line = metrics_line("{\"validation_loss\":1,\"step\":7}\r\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->step, 7);
  EXPECT_TRUE(line->is_validation);
}

TEST(MetricsLines, are_none_where_they_are_torn_or_something_else) {
  for (const char* text :
       {"", "\n", "{\"step\": 12, \"lo\n", "{\"step\": 1.5, \"loss\": 2}\n", "[1]\n",
        "{\"step\": 99999999999999999999, \"loss\": 2}\n", "{\"loss\": 2}\n", "{\"step\": }\n"})
    EXPECT_FALSE(metrics_line(text)) << text;
}

TEST(MetricsLines, of_a_run_say_how_far_it_is) {
  const TemporaryFolder folder;
  EXPECT_EQ(recorded_metrics(folder.path()).steps, 0);
  {
    MetricsWriter metrics(folder.path(), 0);
    for (std::int64_t step = 0; step < 5; ++step) metrics.training({.step = step});
    metrics.validation(4, 2.5);
  }
  const RecordedMetrics recorded = recorded_metrics(folder.path());
  EXPECT_EQ(recorded.steps, 5);
  EXPECT_EQ(recorded.validations, (std::set<std::int64_t>{4}));
}

}  // namespace
}  // namespace tenax::io::test
