// LocalSearch: simulated annealing over PassOrders by moves on the critical path.
#pragma once

#include "parallel/planner/critical_path.hpp"
#include "parallel/planner/order_evaluator.hpp"
#include "parallel/planner/plan_budget.hpp"

namespace tenax::parallel {

struct ScoredOrder {
  PassOrder order;
  Nanoseconds makespan = kNever;
};

class LocalSearch {
 public:
  /// `problem` and `budget` must outlive it. A makespan of `target` cannot be improved: the search
  /// ends there.
  LocalSearch(const PlanningProblem& problem, BudgetMeter& budget, Nanoseconds target);

  /// Anneals from `start` for `steps` moves, or as long as the budget lasts, from `hot` down to
  /// `cold` (the increase of the makespan accepted with probability 1/e). Returns the best order
  /// found, no worse than `start`.
  ScoredOrder anneal(const ScoredOrder& start, SearchRandom& random, std::int64_t steps, double hot,
                     double cold);

 private:
  bool apply(PassOrder& order, const Move& move);

  const PlanningProblem& problem_;
  BudgetMeter& budget_;
  Nanoseconds target_;
  OrderEvaluator evaluator_;
  CriticalPath path_;
};

}  // namespace tenax::parallel
