// CriticalPath: the chain of passes that decides an order's makespan, and the moves that may
// shorten it.
#pragma once

#include <vector>

#include "parallel/planner/order_evaluator.hpp"
#include "parallel/planner/planning_problem.hpp"

namespace tenax::parallel {

/// Takes the pass at `from` out of a stage's word and puts it in at `to`.
struct Move {
  int stage = 0, from = 0, to = 0;
};

/// Keeps its arrays between calls: one per search. The problem must outlive it.
class CriticalPath {
 public:
  explicit CriticalPath(const PlanningProblem& problem);

  /// Makes `order` known, or the new word of one of its stages.
  void index(const PassOrder& order);
  void index(const PassOrder& order, int stage);

  /// One of the critical paths, at random, of the order that `evaluator` evaluated last and that
  /// was indexed last.
  void trace(const PassOrder& order, const OrderEvaluator& evaluator, SearchRandom& random);

  /// A random move within, out of or into a block: passes of one stage that follow each other on
  /// the path without a gap. Only such moves can shorten the path. It may be inadmissible, or
  /// change nothing (from == to).
  Move propose(const PassOrder& order, SearchRandom& random) const;

 private:
  struct Block {
    int stage, first, last;  // positions in the stage's word
  };
  /// Position of the pass of the stage before or after whose result (s, i) waited for, as (stage,
  /// position).
  std::pair<int, int> source_of(int s, std::uint8_t letter, int microbatch) const;
  std::size_t at(int s, int i) const {
    return static_cast<std::size_t>(s) * static_cast<std::size_t>(problem_.ops_per_stage()) +
           static_cast<std::size_t>(i);
  }

  const PlanningProblem& problem_;
  std::vector<int> microbatch_;     // [stage][position]
  std::vector<int> position_[2];    // F's and B's place: [stage][microbatch], rows as long as words
  std::vector<Block> blocks_;       // each has two passes or more
  std::vector<int> passes_before_;  // in blocks_ before each: for a choice weighted by length
};

}  // namespace tenax::parallel
