#include "app/report/report_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/report/report_page.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

RunData run_of(std::size_t steps) {
  RunData run;
  run.name = run.label = "a</script>b";
  run.deck_text = "name = \"<b>\"\n";
  for (std::size_t i = 0; i < steps; ++i) {
    const auto x = static_cast<double>(i);
    run.series.step.push_back(x);
    run.series.loss.push_back(3 + std::sin(x * 1.7) / 3);
    run.series.grad_norm.push_back(1 + std::sin(x * 0.3) / 7);
    run.series.lr.push_back(1e-3 / (1 + x));
    run.series.seconds.push_back(0.1 + std::sin(x) / 70);
    run.series.tokens_seen.push_back(64 * (x + 1));
    run.series.tokens_per_second.push_back(1e4 + 100 * std::sin(x * 2.3) / 3);
  }
  return run;
}

TEST(ReportData, a_long_curve_becomes_few_means_that_keep_its_peaks) {
  RunData run = run_of(1'000'000);
  run.series.loss[654'321] = 50;
  run.series.loss[654'323] = -50;
  run.series.loss[3] = std::nan("");
  const Curve curve = decimated(run.series.step, run.series.loss);
  EXPECT_EQ(curve.x.size(), kCurveStretches);
  EXPECT_TRUE(std::is_sorted(curve.x.begin(), curve.x.end()));
  EXPECT_EQ(*std::max_element(curve.high.begin(), curve.high.end()), 50);
  EXPECT_EQ(*std::min_element(curve.low.begin(), curve.low.end()), -50);
  for (const double mean : curve.y) EXPECT_NEAR(mean, 3, 0.01);
}

TEST(ReportData, a_short_curve_is_whole_but_for_what_is_not_a_number) {
  const Curve curve = decimated({0, 1, 2}, {5, std::nan(""), 7});
  EXPECT_EQ(curve.x, (std::vector<double>{0, 2}));
  EXPECT_EQ(curve.y, (std::vector<double>{5, 7}));
  EXPECT_TRUE(curve.low.empty());
}

TEST(ReportData, medians_pass_over_what_is_not_a_number) {
  EXPECT_EQ(median({3, std::nan(""), 1, 2}), 2);
  EXPECT_EQ(median({}), 0);
}

TEST(ReportData, runs_of_one_name_are_told_apart_by_their_folders) {
  std::vector<RunData> runs(4);
  const char* const directories[] = {"/data/a/base/run", "/data/b/base/run", "elsewhere", "/data/c/other"};
  const char* const names[] = {"small", "small", "large", "small"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].name = runs[i].label = names[i];
    runs[i].directory = directories[i];
  }
  tell_apart(runs);
  EXPECT_EQ(runs[0].label, "small (a/base/run)");
  EXPECT_EQ(runs[1].label, "small (b/base/run)");
  EXPECT_EQ(runs[2].label, "large");
  EXPECT_EQ(runs[3].label, "small (other)");
}

TEST(ReportData, one_run_given_twice_keeps_its_whole_folder) {
  std::vector<RunData> runs(2);
  for (RunData& run : runs) run.directory = "runs/x", run.name = "x";
  tell_apart(runs);
  EXPECT_EQ(runs[0].label, "x (runs/x)");
}

nlohmann::json histogram_of(const std::vector<double>& seconds) {
  RunData run;
  run.series.seconds = seconds;
  return nlohmann::json::parse(chart_data_json({run})).at("histogram");
}

TEST(ReportData, steps_that_are_much_slower_have_a_bar_apart_from_the_bins) {
  std::vector<double> seconds(1000, 0.1);
  for (std::size_t i = 0; i < 500; ++i) seconds[i] = 0.11;
  seconds[7] = 3;
  seconds[8] = 2;
  const auto histogram = histogram_of(seconds);
  EXPECT_EQ(histogram.at("runs")[0].at("beyond"), 2);
  EXPECT_EQ(histogram.at("runs")[0].at("counts").back(), 498);
  EXPECT_EQ(histogram.at("high"), 0.11);
  EXPECT_EQ(histogram.at("slowest"), 3);
}

TEST(ReportData, steps_that_differ_little_are_all_in_the_bins) {
  const auto histogram = histogram_of({0.1, 0.11, 0.12, 0.13});
  EXPECT_EQ(histogram.at("runs")[0].at("beyond"), 0);
  EXPECT_EQ(histogram.at("high"), 0.13);
}

TEST(ReportData, axes_say_where_a_step_stands_in_tokens_and_time) {
  const auto axes = nlohmann::json::parse(chart_data_json({run_of(5000)})).at("runs")[0].at("axes");
  EXPECT_EQ(axes.at("step").size(), kCurveStretches);
  EXPECT_EQ(axes.at("step").front(), 0);
  EXPECT_EQ(axes.at("step").back(), 4999);
  EXPECT_EQ(axes.at("tokens").back(), 64 * 5000);
  EXPECT_NEAR(axes.at("seconds").back().get<double>(), 500, 1);
}

TEST(ReportData, a_run_of_replicas_ends_when_its_supervisor_says_so) {
  RunData run = run_of(3);
  run.series.replicas = {3, 2, 3};
  io::EventLine launch, lost;
  launch.event = "launch";
  lost.event = "end";
  lost.is_of_replica = true;
  lost.reason = "failed";
  run.events = {launch, lost};
  const auto shown = nlohmann::json::parse(chart_data_json({run})).at("runs")[0];
  EXPECT_EQ(shown.at("ending"), "running, or was killed");
  EXPECT_EQ(shown.at("replicas"), 3);
  EXPECT_EQ(shown.at("curves").at("replicas").at("y"), (std::vector<double>{3, 2, 3}));
}

TEST(ReportPage, a_million_steps_take_less_than_5_MB) {
  EXPECT_LT(report_page({run_of(1'000'000)}, std::vector<RunPictures>(1)).size(), std::size_t{5'000'000});
}

TEST(ReportPage, texts_of_runs_cannot_become_markup_and_nothing_comes_from_the_network) {
  const std::string page = report_page({run_of(3)}, std::vector<RunPictures>(1));
  EXPECT_EQ(page.find("a</script>b"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  for (const char* fetched : {"src=", "<link", "@import", "url(", "fetch("})
    EXPECT_EQ(page.find(fetched), std::string::npos) << fetched;
}

io::TraceFile two_stages() {
  io::TraceRank up{0, 0, 0, 0, "F0 B0 W0", {}}, down{1, 1, 0, 0, "F0 B0 W0", {}};
  up.ops = {{"F0", "F", 0, 0, 1000},
            {"send activation 0", "transfer", 0, 1000, 10},
            {"B0", "B", 0, 9000, 1000},
            {"W0", "W", 0, 10000, 1000}};
  down.ops = {{"receive activation 0", "transfer", 0, 0, 3000},
              {"F0", "F", 0, 3000, 1000},
              {"B0", "B", 0, 4000, 1000},
              {"W0", "W", 0, 5000, 1000},
              {"send gradient 0", "transfer", 0, 5000, 10}};
  return {4, {up, down}};
}

TEST(ReportGantt, draws_what_was_beside_what_the_planned_order_takes) {
  const std::string html = pipeline_html(two_stages());
  EXPECT_NE(html.find("Step 4"), std::string::npos);
  EXPECT_NE(html.find("Measured: 11 ms"), std::string::npos);
  // F, 2 ms of a message, F, B, 2 ms, B, W
  EXPECT_NE(html.find("Planned: 9 ms"), std::string::npos);
  EXPECT_NE(html.find("72.7 %"), std::string::npos);  // stage 0: 3 of 11 ms busy
  EXPECT_NE(html.find("66.7 %"), std::string::npos);  // 3 of 9
}

TEST(ReportGantt, an_order_that_cannot_run_is_not_drawn) {
  io::TraceFile trace = two_stages();
  trace.ranks[0].planned = "B0 F0 W0";
  const std::string html = pipeline_html(trace);
  EXPECT_NE(html.find("Measured"), std::string::npos);
  EXPECT_EQ(html.find("Planned"), std::string::npos);
}

// Replica 0 was given up, before it had a trace or after.
TEST(ReportGantt, is_of_the_replica_whose_trace_is_the_newest) {
  namespace fs = std::filesystem;
  const io::test::TemporaryFolder folder;
  const auto newest = fs::file_time_type::clock::now();
  const auto write = [&](const std::string& name, int step, std::chrono::minutes age) {
    fs::create_directories((folder.path() / name).parent_path());
    const fs::path file =
        folder.write(name, "{\"otherData\": {\"step\": " + std::to_string(step) + "}, \"traceEvents\": []}");
    fs::last_write_time(file, newest - age);
  };
  fs::create_directory(folder.path() / "replica-0");
  write("replica-1/trace.json", 19, std::chrono::minutes(1));
  EXPECT_EQ(trace_of_run(folder.path()).step, 19);
  write("replica-0/trace.json", 9, std::chrono::minutes(2));
  write("trace.json", 4, std::chrono::minutes(3));
  EXPECT_EQ(trace_of_run(folder.path()).step, 19);
  write("trace.json", 29, std::chrono::minutes(0));
  EXPECT_EQ(trace_of_run(folder.path()).step, 29);
}

TEST(ReportPage, shows_what_was_simulated_as_an_image) {
  RunData run = run_of(3);
  EXPECT_EQ(report_page({run}, std::vector<RunPictures>(1)).find("data:image"), std::string::npos);
  run.simulation = "<svg/>";
  EXPECT_NE(
      report_page({run}, std::vector<RunPictures>(1)).find("src=\"data:image/svg+xml;base64,PHN2Zy8+\""),
      std::string::npos);
}

}  // namespace
}  // namespace tenax::app
