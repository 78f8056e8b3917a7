#include "io/deck/delay_trace.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>

#include "io/csv_fields.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using kernels::Error;
using kernels::Scope;

/// A finite number ≥ 0 and nothing else.
std::optional<double> delay_number(std::string_view text) {
  const auto value = number_of<double>(text);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

std::optional<DelayTrace::Point> point(std::string_view line) {
  const auto comma = line.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto seconds = delay_number(trimmed(line.substr(0, comma)));
  const auto delay_ms = delay_number(trimmed(line.substr(comma + 1)));
  if (!seconds || !delay_ms) return std::nullopt;
  return DelayTrace::Point{*seconds, *delay_ms};
}

bool is_header(std::string_view line) {
  const auto comma = line.find(',');
  return comma != std::string_view::npos && trimmed(line.substr(0, comma)) == "seconds" &&
         trimmed(line.substr(comma + 1)) == "delay_ms";
}

}  // namespace

DelayTrace::DelayTrace(std::vector<Point> points) : points_(std::move(points)) {
  assert(!points_.empty());
  assert(std::is_sorted(points_.begin(), points_.end(),
                        [](const Point& a, const Point& b) { return a.seconds < b.seconds; }));
}

double DelayTrace::delay_ms_at(double seconds) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), seconds,
                                      [](double time, const Point& point) { return time < point.seconds; });
  return after == points_.begin() ? 0 : std::prev(after)->delay_ms;
}

DelayTrace read_delay_trace(const std::filesystem::path& file) {
  std::string text;
  if (const auto failure = read_text_file(file, text))
    throw Error(Scope::rank, "cannot open " + file.string() + ": " + failure.message());
  std::istringstream lines(text);
  std::vector<DelayTrace::Point> points;
  std::size_t number_of_line = 0;
  for (std::string raw; std::getline(lines, raw);) {
    ++number_of_line;
    const auto fail = [&](const char* what) {
      throw Error(Scope::rank, file.string() + ":" + std::to_string(number_of_line) + ": " + what);
    };
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#' || (points.empty() && is_header(line))) continue;
    const auto next = point(line);
    if (!next) fail("expected seconds,delay_ms: two numbers, neither below 0");
    if (!points.empty() && next->seconds <= points.back().seconds) fail("times must ascend");
    points.push_back(*next);
  }
  if (points.empty()) throw Error(Scope::rank, file.string() + ": holds no line of seconds,delay_ms");
  return DelayTrace(std::move(points));
}

}  // namespace tenax::io
