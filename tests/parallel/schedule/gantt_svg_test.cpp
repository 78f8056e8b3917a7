#include "parallel/schedule/gantt.hpp"

#include <gtest/gtest.h>

#include <string>

#include "parallel/planner/baselines.hpp"

namespace tenax::parallel {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(DrawGanttSvg, draws_each_pass_once_and_a_row_of_bubble_behind_each_stage) {
  const auto costs = PipelineCosts::uniform(4, {0.01, 0.01, 0.01});
  const PipelineSchedule schedule = plan_zero_bubble(12, costs);
  const std::string svg = draw_gantt_svg(schedule, simulate(schedule, costs), "zero_bubble");
  for (const char* pass : {"F", "B", "W"})
    EXPECT_EQ(count_of(svg, "<rect class=\"" + std::string(pass) + "\""), 48 + 1) << "passes and the legend";
  EXPECT_EQ(count_of(svg, "<rect class=\"BW\""), 0);
  EXPECT_EQ(count_of(svg, "<rect class=\"bubble\""), 4 + 1);
  EXPECT_EQ(count_of(svg, "<title>F3: 30.00 to 40.00 ms</title>"), 1);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(DrawGanttSvg, escapes_its_title) {
  const auto costs = PipelineCosts::uniform(1, {0.01, 0.01, 0.01});
  const PipelineSchedule schedule = plan_gpipe(1, 1);
  const std::string svg = draw_gantt_svg(schedule, simulate(schedule, costs), "a<b & c");
  EXPECT_NE(svg.find("a&lt;b &amp; c"), std::string::npos);
  EXPECT_EQ(svg.find("a<b"), std::string::npos);
}

TEST(DrawGanttSvg, draws_a_schedule_that_takes_no_time) {
  const auto costs = PipelineCosts::uniform(2, {0, 0, 0});
  const PipelineSchedule schedule = plan_gpipe(2, 2);
  const std::string svg = draw_gantt_svg(schedule, simulate(schedule, costs), "nothing");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace tenax::parallel
