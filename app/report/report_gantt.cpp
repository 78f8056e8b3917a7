#include "app/report/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "app/report/report_data.hpp"
#include "app/units.hpp"
#include "kernels/error.hpp"
#include "parallel/schedule/gantt.hpp"
#include "parallel/schedule/timeline.hpp"

namespace tenax::app {

namespace {

constexpr double kSeconds = 1e-6;
constexpr std::size_t kMostOps = 12000;  // each takes a hundred bytes of the page

/// A schedule and when its ops ran, or are expected to.
struct Picture {
  parallel::PipelineSchedule schedule;
  parallel::Timeline timeline;
};

/// One rank a stage: data 0, tensor 0.
std::vector<const io::TraceRank*> first_pipeline(const io::TraceFile& trace) {
  std::map<int, const io::TraceRank*> of_stage;
  for (const io::TraceRank& rank : trace.ranks)
    if (rank.data == 0 && rank.tensor == 0) of_stage[rank.stage] = &rank;
  std::vector<const io::TraceRank*> ranks;
  for (const auto& [stage, rank] : of_stage) ranks.push_back(rank);
  return ranks;
}

Picture measured(const std::vector<const io::TraceRank*>& ranks) {
  Picture picture;
  double first_us = std::numeric_limits<double>::infinity(), end_us = 0;
  for (const io::TraceRank* rank : ranks)
    for (const io::TraceOp& op : rank->ops)
      if (parallel::op_of_text(op.name)) first_us = std::min(first_us, op.start_us);
  for (const io::TraceRank* rank : ranks) {
    auto& ops = picture.schedule.ops_of_stage.emplace_back();
    auto& times = picture.timeline.ops_of_stage.emplace_back();
    double busy_us = 0;
    for (const io::TraceOp& op : rank->ops) {
      const auto pass = parallel::op_of_text(op.name);
      if (!pass) continue;
      ops.push_back(*pass);
      const double start_us = op.start_us - first_us;
      times.push_back({start_us * kSeconds, (start_us + op.duration_us) * kSeconds});
      busy_us += op.duration_us;
      end_us = std::max(end_us, start_us + op.duration_us);
    }
    const double span_s = times.empty() ? 0 : times.back().end_s - times.front().start_s;
    picture.timeline.bubble_rate.push_back(span_s > 0 ? 1 - busy_us * kSeconds / span_s : 0);
  }
  picture.timeline.makespan_s = end_us * kSeconds;
  return picture;
}

double median_s(const io::TraceRank& rank, const char* category) {
  std::vector<double> durations;
  for (const io::TraceOp& op : rank.ops)
    if (op.category == category) durations.push_back(op.duration_us * kSeconds);
  return median(std::move(durations));
}

/// From the sending's begin to the receiving's end, of the quickest message from `sender` to `receiver`.
double quickest_s(const io::TraceRank& sender, const io::TraceRank& receiver, const std::string& what) {
  std::map<int, double> sent_us;
  for (const io::TraceOp& op : sender.ops)
    if (op.name.starts_with("send " + what)) sent_us[op.microbatch] = op.start_us;
  double quickest_us = std::numeric_limits<double>::infinity();
  for (const io::TraceOp& op : receiver.ops)
    if (const auto sent = sent_us.find(op.microbatch);
        sent != sent_us.end() && op.name.starts_with("receive " + what))
      quickest_us = std::min(quickest_us, op.start_us + op.duration_us - sent->second);
  return std::isfinite(quickest_us) ? std::max(0.0, quickest_us * kSeconds)
                                    : std::numeric_limits<double>::infinity();
}

parallel::PipelineCosts costs_of(const std::vector<const io::TraceRank*>& ranks) {
  parallel::PipelineCosts costs;
  for (std::size_t s = 0; s < ranks.size(); ++s) {
    const double fused_s = median_s(*ranks[s], "BW");  // there is either that or the two parts
    costs.stages.push_back(
        {median_s(*ranks[s], "F"), median_s(*ranks[s], "B") + fused_s, median_s(*ranks[s], "W")});
    if (s == 0) continue;
    const double delay_s = std::min(quickest_s(*ranks[s - 1], *ranks[s], "activation"),
                                    quickest_s(*ranks[s], *ranks[s - 1], "gradient"));
    costs.link_delay_s.push_back(std::isfinite(delay_s) ? delay_s : 0);
  }
  return costs;
}

std::optional<Picture> planned(const std::vector<const io::TraceRank*>& ranks) {
  Picture picture;
  for (const io::TraceRank* rank : ranks) {
    auto& ops = picture.schedule.ops_of_stage.emplace_back();
    std::istringstream words(rank->planned);
    for (std::string word; words >> word;)
      if (const auto op = parallel::op_of_text(word)) ops.push_back(*op);
    if (ops.empty()) return {};
  }
  try {
    picture.timeline = parallel::simulate(picture.schedule, costs_of(ranks));
  } catch (const kernels::Error&) {  // a trace that somebody edited
    return {};
  }
  return picture;
}

std::string figure(const Picture& picture, const std::string& id, const std::string& title, double axis_s) {
  return "<figure class=\"gantt-frame\" data-chart=\"" + id +
         "\" tabindex=\"0\" role=\"group\" aria-label=\"" + title + "\">" +
         parallel::draw_gantt_svg(picture.schedule, picture.timeline, title, axis_s) + "</figure>\n";
}

std::string bubble_table(const Picture& was, const std::optional<Picture>& plan) {
  std::string rows;
  for (std::size_t s = 0; s < was.timeline.bubble_rate.size(); ++s) {
    rows +=
        format("<tr><th scope=\"row\">stage %zu</th><td>%.1f %%</td>", s, 100 * was.timeline.bubble_rate[s]);
    rows += plan ? format("<td>%.1f %%</td></tr>", 100 * plan->timeline.bubble_rate[s]) : "<td>–</td></tr>";
  }
  return "<details><summary>Bubbles of each stage</summary><table><thead><tr><th scope=\"col\">share of its "
         "time "
         "idle</th><th scope=\"col\">measured</th><th scope=\"col\">planned</th></tr></thead><tbody>" +
         rows + "</tbody></table></details>\n";
}

}  // namespace

std::string pipeline_html(const io::TraceFile& trace) {
  const auto ranks = first_pipeline(trace);
  std::size_t ops = 0;
  for (const io::TraceRank* rank : ranks) ops += rank->ops.size();
  if (ops == 0) return "<p>The profiled step has no passes.</p>\n";
  if (ops > kMostOps)
    return "<p>The profiled step has too many passes to draw here: open trace.json in Perfetto.</p>\n";
  const Picture was = measured(ranks);
  const std::optional<Picture> plan = planned(ranks);
  const double axis_s = std::max(was.timeline.makespan_s, plan ? plan->timeline.makespan_s : 0);
  std::string html = format("<p>Step %lld", static_cast<long long>(trace.step));
  if (ranks.size() < trace.ranks.size())
    html += ", the first tensor rank of each stage of the first pipeline";
  html += ". What no pass fills is marked as a bubble.";
  if (plan)
    html +=
        " Planned: the order that the ranks were to run, with passes as long as their medians in this step "
        "and "
        "messages as quick as their link’s quickest. While an input is late, a rank may run a later pass "
        "first.";
  html += "</p>\n";
  html += figure(was, "gantt-measured", format("Measured: %.4g ms", was.timeline.makespan_s * 1e3), axis_s);
  if (plan)
    html +=
        figure(*plan, "gantt-planned", format("Planned: %.4g ms", plan->timeline.makespan_s * 1e3), axis_s);
  return html + bubble_table(was, plan);
}

}  // namespace tenax::app
