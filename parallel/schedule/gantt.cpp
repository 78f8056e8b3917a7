#include "parallel/schedule/gantt.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tenax::parallel {
namespace {

constexpr double kLeft = 70, kChartWidth = 1180, kRight = 20, kTop = 64, kRowHeight = 26, kRowGap = 6,
                 kAxis = 40;
constexpr double kDigitWidth = 4.8;   // of the labels' font
constexpr int kMostTooltips = 20000;  // beyond, the file would be mostly tooltips

// Plain colours, for viewers without CSS variables; every rule under .gantt, for pages that hold several pictures.
constexpr const char* kStyle = R"(<style>
  .gantt { font: 11px system-ui, sans-serif; }
  .gantt .paper { fill: #ffffff; } .gantt text { fill: #1c2530; } .gantt .grid { stroke: #8b96a3; }
  .gantt .bubble { fill: #e4e8ed; } .gantt .op { fill: #ffffff; text-anchor: middle; font-size: 8.5px; }
  .gantt .F { fill: #2f6fb5; } .gantt .B { fill: #2b8a57; } .gantt .W { fill: #c2730b; } .gantt .BW { fill: #7d5bb5; }
  .gantt .title { font-size: 15px; font-weight: 600; } .gantt .tick { text-anchor: middle; }
  .gantt .stage { text-anchor: end; }
  @media (prefers-color-scheme: dark) {
    .gantt .paper { fill: #14181d; } .gantt text { fill: #e6eaf0; } .gantt .grid { stroke: #77828f; }
    .gantt .bubble { fill: #2a313a; } .gantt .op { fill: #10141a; }
    .gantt .F { fill: #6aa9ea; } .gantt .B { fill: #5cc28d; } .gantt .W { fill: #eeb055; } .gantt .BW { fill: #b39aea; }
  }
</style>
)";

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

std::string rectangle(const std::string& kind, double x, double y, double width,
                      const std::string& inside = {}) {
  return "<rect class=\"" + kind + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
         number(width) + "\" height=\"" + number(kRowHeight) + "\"" +
         (inside.empty() ? "/>" : ">" + inside + "</rect>") + "\n";
}

std::string words(const std::string& kind, double x, double y, const std::string& text) {
  return "<text class=\"" + kind + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\">" + escaped(text) +
         "</text>\n";
}

// 1, 2 or 5 times a power of ten, for about ten ticks.
double tick_step(double length) {
  const double power = std::pow(10, std::floor(std::log10(length / 10)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (length / (factor * power) <= 12) return factor * power;
  return 10 * power;
}

class Chart {
 public:
  Chart(const PipelineSchedule& schedule, const Timeline& timeline, double axis_s)
      : schedule_(schedule), timeline_(timeline) {
    for (const auto& ops : timeline.ops_of_stage) {
      ops_ += ops.size();
      if (!ops.empty()) last_s_ = std::max(last_s_, ops.back().end_s);
    }
    end_s_ = std::max(axis_s, last_s_);
    for (const auto& ops : schedule.ops_of_stage)
      for (const PipelineOp& op : ops)
        longest_label_ = std::max(
            longest_label_, kDigitWidth * static_cast<double>(std::to_string(op.microbatch).size()) + 0.7);
  }

  std::string draw(const std::string& title) const {
    const double bottom = row_y(schedule_.ops_of_stage.size());
    std::string svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gantt\" role=\"img\" viewBox=\"0 0 " +
        number(kLeft + kChartWidth + kRight) + " " + number(bottom + kAxis) + "\">\n<title>" +
        escaped(title) + "</title>\n" + kStyle + "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" +
        words("title", 12, 24, title);
    svg += legend();
    for (std::size_t stage = 0; stage < timeline_.ops_of_stage.size(); ++stage) svg += row(stage);
    return svg + axis(bottom) + "</svg>\n";
  }

 private:
  static double row_y(std::size_t stage) {
    return kTop + static_cast<double>(stage) * (kRowHeight + kRowGap);
  }
  double x_of(double time_s) const { return kLeft + (end_s_ > 0 ? time_s / end_s_ * kChartWidth : 0); }

  bool has(Pass pass) const {
    for (const auto& ops : schedule_.ops_of_stage)
      for (const PipelineOp& op : ops)
        if (op.pass == pass) return true;
    return false;
  }

  std::string legend() const {
    static constexpr std::array<std::pair<Pass, const char*>, 4> kEntries = {
        {{Pass::forward, "forward"},
         {Pass::backward_input, "backward, input"},
         {Pass::backward_weight, "backward, weight"},
         {Pass::backward, "backward, fused"}}};
    std::string text;
    double x = kLeft;
    const auto entry = [&](const std::string& kind, const std::string& name) {
      text += "<rect class=\"" + kind + "\" x=\"" + number(x) + "\" y=\"38\" width=\"14\" height=\"12\"/>\n" +
              words("legend", x + 19, 48, name);
      x += 140;
    };
    for (const auto& [pass, name] : kEntries)
      if (has(pass)) entry(code_of(pass), std::string(code_of(pass)) + "  " + name);
    entry("bubble", "bubble");
    return text;
  }

  std::string row(std::size_t stage) const {
    const double y = row_y(stage), middle = y + kRowHeight / 2 + 4;
    std::string text = words("stage", kLeft - 8, middle, "stage " + std::to_string(stage));
    text += rectangle("bubble", kLeft, y, x_of(last_s_) - kLeft);
    for (std::size_t i = 0; i < timeline_.ops_of_stage[stage].size(); ++i) {
      const PipelineOp& op = schedule_.ops_of_stage[stage][i];
      const OpTime& time = timeline_.ops_of_stage[stage][i];
      const double x = x_of(time.start_s), width = x_of(time.end_s) - x;
      // A hairline between passes, where they are wide enough to spare it.
      text += rectangle(code_of(op.pass), x, y, width > 4 ? width - 0.7 : width, tooltip(op, time));
      const std::string label = std::to_string(op.microbatch);
      if (width > longest_label_) text += words("op", x + width / 2, middle, label);
    }
    return text;
  }

  std::string tooltip(const PipelineOp& op, const OpTime& time) const {
    if (ops_ > kMostTooltips) return {};
    return "<title>" + to_string(op) + ": " + number(time.start_s * 1e3) + " to " + number(time.end_s * 1e3) +
           " ms</title>";
  }

  std::string axis(double bottom) const {
    std::string text;
    const double end_ms = end_s_ * 1e3;
    if (end_ms <= 0) return text;
    const double step_ms = tick_step(end_ms);
    for (int i = 0; i * step_ms <= end_ms * (1 + 1e-9); ++i) {
      const std::string x = number(x_of(i * step_ms * 1e-3));
      std::array<char, 32> label{};
      std::snprintf(label.data(), label.size(), "%g", i * step_ms);
      text += "<line class=\"grid\" x1=\"" + x + "\" x2=\"" + x + "\" y1=\"" + number(bottom) + "\" y2=\"" +
              number(bottom + 5) + "\"/>\n" +
              words("tick", x_of(i * step_ms * 1e-3), bottom + 18, label.data());
    }
    return text + words("stage", kLeft + kChartWidth, bottom + 34, "milliseconds");
  }

  const PipelineSchedule& schedule_;
  const Timeline& timeline_;
  std::size_t ops_ = 0;
  double last_s_ = 0, end_s_ = 0;  // of the passes, of the axis
  double longest_label_ = 0;       // every microbatch's number fits, or none is shown
};

}  // namespace

std::string draw_gantt_svg(const PipelineSchedule& schedule, const Timeline& timeline,
                           const std::string& title, double axis_s) {
  return Chart(schedule, timeline, axis_s).draw(title);
}

std::string draw_gantt(const PipelineSchedule& schedule, const Timeline& timeline, int width) {
  double end_s = 0;
  for (const auto& ops : timeline.ops_of_stage)
    if (!ops.empty()) end_s = std::max(end_s, ops.back().end_s);
  const auto column_of = [&](double time_s) {
    return end_s > 0 ? static_cast<std::size_t>(std::lround(time_s / end_s * width)) : std::size_t{0};
  };
  const std::size_t label_width = std::to_string(schedule.stages() - 1).size();
  std::string chart;
  for (std::size_t stage = 0; stage < timeline.ops_of_stage.size(); ++stage) {
    std::string line(static_cast<std::size_t>(width), '.');
    for (std::size_t i = 0; i < timeline.ops_of_stage[stage].size(); ++i) {
      const std::size_t begin = column_of(timeline.ops_of_stage[stage][i].start_s);
      const std::size_t columns = column_of(timeline.ops_of_stage[stage][i].end_s) - begin;
      std::string label = to_string(schedule.ops_of_stage[stage][i]);
      if (label.size() > columns) label.resize(1);
      label.resize(columns, '-');
      line.replace(begin, columns, label);
    }
    const std::string number = std::to_string(stage);
    chart += "stage " + std::string(label_width - number.size(), ' ') + number + " |" + line + "|\n";
  }
  return chart;
}

}  // namespace tenax::parallel
