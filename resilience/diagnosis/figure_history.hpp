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
  /// Iterations increase. `is_masked`: this one says nothing of what is healthy.
  void add(std::int64_t iteration, const RankFigures& figures, bool is_masked = false);
  /// Later iterations are not to be compared with those so far. What is healthy stays.
  void forget() { entries_.clear(); }
  /// Likewise, and the rank has other work from now on: of what is healthy only what it is kept from
  /// its processor and what its device tells stays.
  void forget_work();
  /// What is healthy is what was measured from iteration `from` on and before `end`, in its last 64 iterations.
  /// Fewer than 16 say too little to take the place of what is known.
  void was_healthy(std::int64_t from, std::int64_t end);
  /// `now`: of the iterations from `since` on. Figures that nobody has are 0.
  RankReport report(std::int64_t since) const;

 private:
  struct Entry {
    std::int64_t iteration;
    RankFigures figures;
    bool is_masked;
  };
  static RankFigures medians(const std::vector<const RankFigures*>& of);

  std::deque<Entry> entries_;
  RankFigures healthy_;
};

}  // namespace tenax::resilience
