// DelayTrace: a link delay that changes with time, for fault injection.
#pragma once

#include <filesystem>
#include <vector>

namespace tenax::io {

/// A step function. Immutable; any thread.
class DelayTrace {
 public:
  struct Point {
    double seconds = 0, delay_ms = 0;
  };
  /// Takes at least one point. Times ascend from ≥ 0; delays are finite and ≥ 0.
  explicit DelayTrace(std::vector<Point> points);

  /// The delay of the last point at or before `seconds`; 0 before the first point.
  double delay_ms_at(double seconds) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

/// Reads a CSV file: one "seconds,delay_ms" a line, optionally below a header of these words. Empty
/// lines and lines that begin with # do not count. Throws Error(rank) "FILE:LINE: …", or "cannot
/// open FILE: …".
DelayTrace read_delay_trace(const std::filesystem::path& file);

}  // namespace tenax::io
