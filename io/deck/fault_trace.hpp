// FaultTrace: how bad a fault is, as it changes with time.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace tenax::io {

/// A step function. Immutable; any thread.
class FaultTrace {
 public:
  struct Point {
    double seconds = 0, value = 0;
  };
  /// What the numbers of a file are: the name of their column, and the least of them, which means
  /// that nothing is wrong.
  struct Quantity {
    std::string_view name;
    double least = 0;
  };

  /// Takes at least one point. Times ascend from ≥ 0; values are finite and at least the least.
  FaultTrace(std::vector<Point> points, const Quantity& quantity);

  /// The value of the last point at or before `seconds`; the least before the first point.
  double value_at(double seconds) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
  double least_;
};

/// Of a link, in ms, and of a rank: how many times as long an operation takes.
inline constexpr FaultTrace::Quantity kTracedDelay{.name = "delay_ms", .least = 0};
inline constexpr FaultTrace::Quantity kTracedFactor{.name = "factor", .least = 1};

/// Reads a CSV file: one "seconds,value" a line, optionally below a header of "seconds" and the
/// quantity's name. Empty lines and lines that begin with # do not count. Throws Error(rank)
/// "FILE:LINE: …", or "cannot open FILE: …".
FaultTrace read_fault_trace(const std::filesystem::path& file, const FaultTrace::Quantity& quantity);

}  // namespace tenax::io
