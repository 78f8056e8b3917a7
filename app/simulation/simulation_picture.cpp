#include "app/simulation/simulation_picture.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "app/units.hpp"

namespace tenax::app {

namespace {

constexpr double kLeft = 56, kWidth = 860, kTop = 76, kHeight = 220, kGap = 40, kRow = 12, kMostRows = 64;
constexpr double kLegendWidth = 200, kLegendRow = 18;
constexpr int kColumns = 215, kTicks = 8;
/// Of the causes in their order, then of what was useful. Plain colours, for viewers without CSS variables.
constexpr std::array<const char*, resilience::kLostCauses + 1> kColours = {
    "#b3362a", "#dd7a3a", "#e3b23c", "#8a5fb0", "#5566c4", "#3f97c9", "#7c8794",
    "#a3adb8", "#c65b8f", "#3a3f47", "#6b4a2b", "#bfe0c2", "#4c9f5c"};
constexpr std::size_t kUseful = resilience::kLostCauses;

constexpr const char* kStyle = R"(<style>
  .simulation { font: 11px system-ui, sans-serif; } .simulation .paper { fill: #ffffff; }
  .simulation text { fill: #1c2530; } .simulation .title { font-size: 15px; font-weight: 600; }
  .simulation .member { fill: #4c9f5c; } .simulation .absent { fill: #b3362a; } .simulation .axis { stroke: #8b96a3; }
  @media (prefers-color-scheme: dark) {
    .simulation .paper { fill: #14181d; } .simulation text { fill: #e6eaf0; }
  }
</style>
)";

std::string name_of_share(std::size_t share) {
  std::string name =
      share == kUseful ? "useful" : resilience::name_of(static_cast<resilience::LostCause>(share));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string words_at(double x, double y, const char* kind, const std::string& text) {
  return format("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", kind, x, y) + text + "</text>\n";
}

std::string box(double x, double y, double width, double height, const std::string& look) {
  return format("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" ", x, y, width, height) + look +
         "/>\n";
}

/// Seconds of each share in each column of the picture.
using Column = std::array<double, resilience::kLostCauses + 1>;
std::vector<Column> columns_of(const std::vector<resilience::TimeSpan>& spans, double column_s) {
  std::vector<Column> columns(kColumns, Column{});
  for (const resilience::TimeSpan& span : spans) {
    const std::size_t share = span.lost ? static_cast<std::size_t>(*span.lost) : kUseful;
    double at_s = span.begin_s;
    for (auto column = std::min(static_cast<std::size_t>(at_s / column_s), columns.size() - 1);
         at_s < span.end_s; ++column) {
      const bool is_last = column + 1 == columns.size();
      const double until_s =
          is_last ? span.end_s : std::min(span.end_s, static_cast<double>(column + 1) * column_s);
      columns[column][share] += std::max(0.0, until_s - at_s);
      at_s = std::max(at_s, until_s);
    }
  }
  return columns;
}

// What was useful stands below, the causes upon it.
std::string shares_of(const SimulationResult& result, double run_s) {
  const double column_s = run_s / kColumns, width = kWidth / kColumns;
  const std::vector<Column> columns = columns_of(result.spans, column_s);
  std::string text;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    double y = kTop + kHeight;
    for (std::size_t i = 0; i <= kUseful; ++i) {
      const std::size_t share = (i + kUseful) % (kUseful + 1);
      const double height = kHeight * columns[column][share] / column_s;
      y -= height;
      if (height > 0)
        text += box(kLeft + static_cast<double>(column) * width, y, width, height,
                    format("fill=\"%s\"", kColours[share]));
    }
  }
  return text;
}

std::string rows_of(const SimulationResult& result, int rows, double run_s) {
  constexpr double kLeastWidth = 0.6;
  const double top = kTop + kHeight + kGap;
  std::string text;
  for (int row = 0; row < rows; ++row) {
    text += words_at(4, top + kRow * (row + 1) - 3, "small", format("replica %d", row));
    text += box(kLeft, top + kRow * row, kWidth, kRow - 2, "class=\"member\"");
  }
  for (const SimulationResult::Absence& gap : result.absences)
    if (gap.replica < rows)
      text += box(kLeft + kWidth * gap.begin_s / run_s, top + kRow * gap.replica,
                  std::max(kLeastWidth, kWidth * (gap.end_s - gap.begin_s) / run_s), kRow - 2,
                  "class=\"absent\"");
  return text;
}

std::string hours_of(double run_s, double y) {
  std::string text;
  for (int tick = 0; tick <= kTicks; ++tick)
    text += words_at(kLeft + kWidth * tick / kTicks - 8, y, "small",
                     format("%.3g h", run_s / kHour_s * tick / kTicks));
  return text;
}

std::string legend_of(const resilience::TimeByCause& time) {
  std::string text;
  double y = kTop + 10;
  for (std::size_t i = 0; i <= kUseful; ++i) {
    const std::size_t share = kUseful - i;
    const double seconds =
        share == kUseful ? time.useful_s() : time.lost_s(static_cast<resilience::LostCause>(share));
    if (seconds <= 0) continue;
    text += box(kLeft + kWidth + 20, y - 9, 11, 11, format("fill=\"%s\"", kColours[share]));
    text += words_at(kLeft + kWidth + 38, y, "small",
                     format("%.2f %% %s", 100 * seconds / time.wall_s(), name_of_share(share).c_str()));
    y += kLegendRow;
  }
  return text;
}

}  // namespace

std::string draw_simulation_svg(const SimulationResult& result, int replicas, const std::string& title) {
  const double run_s = result.time.wall_s();
  const int rows = static_cast<int>(std::min<double>(replicas, kMostRows));
  const double height = kTop + kHeight + kGap + kRow * rows + kGap;
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"simulation\" role=\"img\" viewBox=\"0 0 %.0f "
             "%.0f\">\n",
             kLeft + kWidth + kLegendWidth, height) +
         "<title>" + title + "</title>\n" + kStyle +
         "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" +
         words_at(kLeft, 26, "title", format("Effective time %.1f %%", result.time.effective_percent())) +
         words_at(kLeft, 46, "small", title) + words_at(kLeft, kTop - 8, "small", "share of time") +
         shares_of(result, run_s) + hours_of(run_s, kTop + kHeight + 16) + legend_of(result.time) +
         rows_of(result, rows, run_s) + "</svg>\n";
}

}  // namespace tenax::app
