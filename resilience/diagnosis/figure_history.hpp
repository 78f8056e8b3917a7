// FigureHistory: a rank's figures of the last iterations, and what they were when all was well.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// Constant memory. One thread.
class FigureHistory {
 public:
  /// Iterations increase.
  void add(std::int64_t iteration, const RankFigures& figures);
  /// Later iterations are not to be compared with those so far. What is healthy stays.
  void forget() { entries_.clear(); }
  /// Likewise, and the rank has other work from now on: of what is healthy only what it is kept from
  /// its processor and what its device tells stays.
  void forget_work();
  /// What is healthy is what was measured before `iteration`, in at most 64 iterations.
  void was_healthy_before(std::int64_t iteration);
  /// `now`: of the iterations from `since` on. Figures that nobody has are 0.
  RankReport report(std::int64_t since) const;

 private:
  struct Entry {
    std::int64_t iteration;
    RankFigures figures;
  };
  static RankFigures medians(const std::vector<const RankFigures*>& of);

  std::deque<Entry> entries_;
  RankFigures healthy_;
};

}  // namespace tenax::resilience
