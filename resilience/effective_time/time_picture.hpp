// The picture of a run's effective time: what became of each moment, and what each replica was about.
#pragma once

#include <string>
#include <vector>

#include "resilience/effective_time/replica_rows.hpp"
#include "resilience/effective_time/time_by_cause.hpp"

namespace tenax::resilience {

struct TimePicture {
  std::vector<TimeSpan> spans;  ///< by time, without gaps; what is drawn begins and ends with them
  std::vector<ReplicaRow> rows = {};
  std::vector<double> epochs = {};  ///< when each was decided
};

/// A self-contained SVG. Above the shares of useful and lost seconds in each of 120 stretches of time, one upon the other;
/// below, on the same axis, a row a replica with its deaths and joins, and lines where epochs begin. Of more than 64 replicas
/// the first are drawn, and the others counted. It follows the viewer's light or dark scheme.
std::string draw_time_svg(const TimePicture& picture);

}  // namespace tenax::resilience
