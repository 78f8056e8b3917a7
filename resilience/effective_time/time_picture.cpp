#include "resilience/effective_time/time_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace tenax::resilience {
namespace {

constexpr double kWidth = 1180, kLeft = 92, kRight = 16, kTop = 78, kStack = 150,
                 kRowsTop = kTop + kStack + 16, kRow = 16;
constexpr int kBins = 120;
constexpr std::size_t kMostRows = 64, kKinds = kLostCauses + 1;

// Of useful time, then by cause: plain colours, for viewers without CSS variables.
constexpr std::array<const char*, kKinds> kColours = {"#4c9a6a", "#c0392b", "#d9822b", "#e5b53b", "#8e6bbf",
                                                      "#4f7fc4", "#9dbbe6", "#2f8f8f", "#7cc4c4", "#8c6239",
                                                      "#5c6670", "#b04a8b", "#c9ced4"};
constexpr std::array<const char*, 3> kPhaseColours = {"#c9ced4", "#4f7fc4", "#4c9a6a"};

constexpr const char* kStyle = R"(<style>
  .wall { font: 11px system-ui, sans-serif; } .wall .paper { fill: #ffffff; } .time text { fill: #1c2530; }
  .wall .title { font-size: 15px; font-weight: 600; } .wall .axis { stroke: #8b96a3; } .wall .back { fill: #eef0f3; }
  .wall .epoch { stroke: #1c2530; stroke-opacity: 0.35; stroke-dasharray: 2 3; }
  .wall .death { stroke: #c0392b; stroke-width: 2; } .wall .join { fill: #1c2530; }
  @media (prefers-color-scheme: dark) {
    .wall .paper { fill: #14181d; } .time text { fill: #e6eaf0; } .wall .back { fill: #2a313a; }
    .wall .epoch { stroke: #e6eaf0; } .wall .join { fill: #e6eaf0; }
  }
</style>
)";

__attribute__((format(printf, 1, 2))) std::string svg(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::size_t kind_of(const TimeSpan& span) { return span.lost ? 1 + static_cast<std::size_t>(*span.lost) : 0; }

std::string name_of_kind(std::size_t kind) {
  std::string name = kind == 0 ? "useful" : name_of(static_cast<LostCause>(kind - 1));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

class Drawing {
 public:
  explicit Drawing(const TimePicture& picture)
      : picture_(picture),
        begin_s_(picture.spans.empty() ? 0 : picture.spans.front().begin_s),
        end_s_(picture.spans.empty() ? 0 : picture.spans.back().end_s) {
    fill_bins();
  }

  std::string draw() const {
    const double rows = static_cast<double>(std::min(picture_.rows.size(), kMostRows));
    const bool has_more = picture_.rows.size() > kMostRows;
    const double bottom = kRowsTop + rows * kRow + (has_more ? kRow : 0), height = bottom + 44;
    const TimeByCause time(picture_.spans);
    std::string text = svg(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"wall\" role=\"img\" viewBox=\"0 0 %.0f %.0f\">\n",
        kWidth, height);
    text += svg("<title>Effective time %.1f %%</title>\n", time.effective_percent()) + kStyle +
            "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" +
            svg("<text class=\"title\" x=\"16\" y=\"24\">Effective time %.1f %% of %s</text>\n",
                time.effective_percent(), duration(end_s_ - begin_s_).c_str());
    text += legend(time) + stack() + replica_rows() + epoch_lines(bottom) + axis(bottom);
    if (has_more)
      text += svg("<text x=\"16\" y=\"%.0f\">and %zu more replicas</text>\n", bottom - 4,
                  picture_.rows.size() - kMostRows);
    text += svg("<text x=\"%.0f\" y=\"%.0f\">rows: grey starts, blue fetches state, green trains; ", kLeft,
                bottom + 34);
    return text + "\u00d7 lost, \u25b2 joined; dashed: a new epoch</text>\n</svg>\n";
  }

 private:
  double x(double time_s) const {
    const double share = end_s_ > begin_s_ ? (time_s - begin_s_) / (end_s_ - begin_s_) : 0;
    return kLeft + std::clamp(share, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }

  void fill_bins() {
    const double bin_s = (end_s_ - begin_s_) / kBins;
    if (!(bin_s > 0)) return;
    for (const TimeSpan& span : picture_.spans) {
      const auto bin_of = [&](double time_s) {
        return std::clamp(static_cast<int>((time_s - begin_s_) / bin_s), 0, kBins - 1);
      };
      for (int bin = bin_of(span.begin_s); bin <= bin_of(span.end_s); ++bin) {
        const double from_s = std::max(span.begin_s, begin_s_ + bin * bin_s);
        const double to_s = std::min(span.end_s, begin_s_ + (bin + 1) * bin_s);
        shares_[static_cast<std::size_t>(bin)][kind_of(span)] += std::max(0.0, to_s - from_s) / bin_s;
      }
    }
  }

  static std::string legend(const TimeByCause& time) {
    std::string text;
    double at = 16, line = 44;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      const double seconds = kind == 0 ? time.useful_s() : time.lost_s(static_cast<LostCause>(kind - 1));
      if (!(seconds > 0)) continue;
      const std::string label =
          name_of_kind(kind) + svg(" %.1f %%", time.wall_s() > 0 ? 100 * seconds / time.wall_s() : 0);
      const double width = 26 + 6.3 * static_cast<double>(label.size());
      if (at + width > kWidth) at = 16, line += 18;
      text += svg("<rect x=\"%.0f\" y=\"%.0f\" width=\"11\" height=\"11\" rx=\"2\" fill=\"%s\"/>", at,
                  line - 10, kColours[kind]) +
              svg("<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", at + 16, line, label.c_str());
      at += width;
    }
    return text;
  }

  std::string stack() const {
    std::string text;
    const double width = (kWidth - kLeft - kRight) / kBins;
    for (int bin = 0; bin < kBins; ++bin) {
      double bottom = kTop + kStack;
      for (std::size_t kind = 0; kind < kKinds; ++kind) {
        const double height = kStack * shares_[static_cast<std::size_t>(bin)][kind];
        if (height < 0.05) continue;
        bottom -= height;
        text +=
            svg("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                "fill=\"%s\"><title>%s</title></rect>\n",
                kLeft + bin * width, bottom, width, height, kColours[kind], name_of_kind(kind).c_str());
      }
    }
    for (const int percent : {0, 50, 100})
      text += svg("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n", kLeft - 8,
                  kTop + kStack * (1 - percent / 100.0) + 4, percent);
    return text;
  }

  std::string replica_rows() const {
    std::string text;
    for (std::size_t i = 0; i < std::min(picture_.rows.size(), kMostRows); ++i)
      text += replica_row(picture_.rows[i], kRowsTop + static_cast<double>(i) * kRow);
    return text;
  }

  std::string replica_row(const ReplicaRow& row, double y) const {
    std::string text = svg("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">replica %d</text>\n", kLeft - 8,
                           y + 11, row.replica) +
                       svg("<rect class=\"back\" x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\"/>\n",
                           kLeft, y + 1, kWidth - kLeft - kRight, kRow - 3);
    constexpr std::array<const char*, 3> kNames = {"starts", "fetches state", "trains"};
    for (const ReplicaRow::Stretch& stretch : row.stretches) {
      const auto phase = static_cast<std::size_t>(stretch.phase);
      text += svg(
          "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"><title>%s</title></rect>\n",
          x(stretch.begin_s), y + 1, std::max(0.5, x(stretch.end_s) - x(stretch.begin_s)), kRow - 3,
          kPhaseColours[phase], kNames[phase]);
    }
    for (const double death_s : row.deaths)
      text += svg("<path class=\"death\" d=\"M%.1f %.1f l8 8 m0 -8 l-8 8\"><title>lost</title></path>\n",
                  x(death_s) - 4, y + 4);
    for (const double join_s : row.joins)
      text += svg("<path class=\"join\" d=\"M%.1f %.1f l5 9 l-10 0 z\"><title>joined</title></path>\n",
                  x(join_s), y + 3);
    return text;
  }

  std::string epoch_lines(double bottom) const {
    std::string text;
    for (const double epoch_s : picture_.epochs)
      text += svg("<path class=\"epoch\" d=\"M%.1f %.0f V%.0f\"><title>epoch</title></path>\n", x(epoch_s),
                  kRowsTop, bottom);
    return text;
  }

  struct Unit {
    double seconds = 1;
    const char* name = "s";
  };
  static Unit unit_of(double seconds) {
    if (seconds < 300) return {1, "s"};
    return seconds < 5 * 3600 ? Unit{60, "min"} : Unit{3600, "h"};
  }
  static std::string duration(double seconds) {
    const auto [unit_s, name] = unit_of(seconds);
    return svg("%.4g %s", seconds / unit_s, name);
  }

  /// Ticks at 1, 2 or 5 times a power of ten, of seconds, minutes or hours.
  std::string axis(double bottom) const {
    const double wall_s = end_s_ - begin_s_;
    const auto [unit_s, name] = unit_of(wall_s);
    std::string text =
        svg("<path class=\"axis\" d=\"M%.0f %.0f H%.0f\"/>\n", kLeft, bottom + 1, kWidth - kRight);
    if (!(wall_s > 0)) return text;
    constexpr double kMostTicks = 10;
    const double power = std::pow(10, std::floor(std::log10(wall_s / unit_s / kMostTicks)));
    double step = power;
    for (const double factor : {2, 5, 10})
      if (wall_s / unit_s / step > kMostTicks) step = factor * power;
    for (int tick = 0; tick * step * unit_s <= wall_s; ++tick)
      text += svg("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>\n",
                  x(begin_s_ + tick * step * unit_s), bottom + 16, tick * step);
    return text + svg("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", kWidth - kRight,
                      bottom + 34, name);
  }

  const TimePicture& picture_;
  double begin_s_, end_s_;
  std::array<std::array<double, kKinds>, kBins> shares_{};
};

}  // namespace

std::string draw_time_svg(const TimePicture& picture) { return Drawing(picture).draw(); }

}  // namespace tenax::resilience
