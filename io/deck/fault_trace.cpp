#include "io/deck/fault_trace.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>

#include "io/csv_fields.hpp"
#include "io/text.hpp"
#include "io/whole_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

using kernels::Error;
using kernels::Scope;

struct Fields {
  std::string_view seconds, value;
};

std::optional<Fields> fields_of(std::string_view line) {
  const auto comma = line.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  return Fields{trimmed(line.substr(0, comma)), trimmed(line.substr(comma + 1))};
}

/// A finite number ≥ `least` and nothing else.
std::optional<double> number(std::string_view text, double least) {
  const auto value = number_of<double>(text);
  return value && std::isfinite(*value) && *value >= least ? value : std::nullopt;
}

std::optional<FaultTrace::Point> point(std::string_view line, double least) {
  const auto fields = fields_of(line);
  const auto seconds = fields ? number(fields->seconds, 0) : std::nullopt;
  const auto value = fields ? number(fields->value, least) : std::nullopt;
  if (!seconds || !value) return std::nullopt;
  return FaultTrace::Point{*seconds, *value};
}

bool is_header(std::string_view line, std::string_view name) {
  const auto fields = fields_of(line);
  return fields && fields->seconds == "seconds" && fields->value == name;
}

std::string expected(const FaultTrace::Quantity& quantity) {
  return "expected seconds," + std::string(quantity.name) + ": two numbers, " +
         (quantity.least == 0 ? "neither below 0"
                              : "the second at least " + std::to_string(std::lround(quantity.least)));
}

}  // namespace

FaultTrace::FaultTrace(std::vector<Point> points, const Quantity& quantity)
    : points_(std::move(points)), least_(quantity.least) {
  assert(!points_.empty());
  assert(std::is_sorted(points_.begin(), points_.end(),
                        [](const Point& a, const Point& b) { return a.seconds < b.seconds; }));
}

double FaultTrace::value_at(double seconds) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), seconds,
                                      [](double time, const Point& point) { return time < point.seconds; });
  return after == points_.begin() ? least_ : std::prev(after)->value;
}

FaultTrace read_fault_trace(const std::filesystem::path& file, const FaultTrace::Quantity& quantity) {
  std::string text;
  if (const auto failure = read_text_file(file, text))
    throw Error(Scope::rank, "cannot open " + file.string() + ": " + failure.message());
  std::istringstream lines{std::string(without_byte_order_mark(text))};
  std::vector<FaultTrace::Point> points;
  std::size_t number_of_line = 0;
  for (std::string raw; std::getline(lines, raw);) {
    ++number_of_line;
    const auto fail = [&](const std::string& what) {
      throw Error(Scope::rank, file.string() + ":" + std::to_string(number_of_line) + ": " + what);
    };
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#' || (points.empty() && is_header(line, quantity.name))) continue;
    const auto next = point(line, quantity.least);
    if (!next) fail(expected(quantity));
    if (!points.empty() && next->seconds <= points.back().seconds) fail("times must ascend");
    points.push_back(*next);
  }
  if (points.empty())
    throw Error(Scope::rank, file.string() + ": holds no line of seconds," + std::string(quantity.name));
  return {std::move(points), quantity};
}

}  // namespace tenax::io
