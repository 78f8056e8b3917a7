// WaitGraph: which rank waits for which operation, and which operation for which rank (ft-hsdp, section 2.3).
#pragma once

#include <cstdint>
#include <vector>

#include "resilience/blame/hang_dump.hpp"
#include "resilience/blame/strong_components.hpp"

namespace tenax::resilience {

/// What a rank is at. Only one that waits leads on to others.
enum class Doing : std::uint8_t {
  waits,
  computes,  ///< a pass has begun and not ended
  idle,      ///< it stands in no operation and looks at none: code of the host between two of them
  stopped,
  gone,
  unread
};

/// An operation of a channel that some rank waits in.
struct WaitPoint {
  int channel = 0;
  std::int64_t number = 0;
};

/// Nodes: first the dump's ranks, by their index, then the points.
struct WaitGraph {
  std::vector<Doing> doing;  ///< by rank
  std::vector<WaitPoint> points;
  /// A rank leads to the points that it waits in; a point to the ranks that have not come to it or, where all have, to
  /// those that do something else meanwhile. A point that leads nowhere does not advance though all came.
  Successors next;

  int ranks() const { return static_cast<int>(doing.size()); }
  bool is_rank(int node) const { return node < ranks(); }
  const WaitPoint& point(int node) const { return points[static_cast<std::size_t>(node - ranks())]; }
};

WaitGraph wait_graph(const HangDump& dump);

/// A rank neither waits nor computes, though something that it has begun is under way.
bool some_idle(const HangDump& dump);
/// The operation in which the rank's training thread stands: the last one that it began of those in which it stands
/// or computes; null where there is none.
const OpenOperation* innermost(const HangDump::Rank& rank);
/// What the rank waits for: that, or the first that it looks at; null where it waits for nothing.
const OpenOperation* awaited(const HangDump::Rank& rank);

}  // namespace tenax::resilience
