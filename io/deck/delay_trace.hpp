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
  /// `points`: at ascending times ≥ 0, delays ≥ 0 and finite; at least one.
  explicit DelayTrace(std::vector<Point> points);

  /// That of the last point at or before `seconds`: 0 before the first, and after the last that one's for
  /// ever.
  double delay_ms_at(double seconds) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

/// A CSV file: one "seconds,delay_ms" a line, a header line of that wording if any; empty lines and lines
/// that begin with # do not count. Throws Error(rank) "FILE:LINE: …", or "cannot open FILE: …".
DelayTrace read_delay_trace(const std::filesystem::path& file);

}  // namespace tenax::io
