// ScheduleSearch: the search behind plan_adaptive(): constructions by rules, then annealing of the
// best of them.
#pragma once

#include <vector>

#include "parallel/planner/list_scheduler.hpp"
#include "parallel/planner/local_search.hpp"

namespace tenax::parallel {

class ScheduleSearch {
 public:
  /// Problem and budget must outlive it. Ends early at a makespan of `target`, which no order
  /// beats.
  ScheduleSearch(const PlanningProblem& problem, BudgetMeter& budget, std::uint64_t seed, Nanoseconds target);

  /// An order to start from; counted as one evaluation. Orders that break the limit or deadlock are
  /// passed over.
  void offer(PassOrder order);
  /// Searches until the budget is spent or the target is met. At least one order must have been
  /// found by then.
  void run();
  const ScoredOrder& best() const { return elite_.front(); }

 private:
  bool met() const { return !elite_.empty() && elite_.front().makespan <= target_; }
  bool done() const { return met() || !budget_.left(); }
  void construct();
  void construct_with(const std::vector<int>& warmup);
  void improve();
  void keep(ScoredOrder scored);

  const PlanningProblem& problem_;
  BudgetMeter& budget_;
  SearchRandom random_;
  Nanoseconds target_;
  OrderEvaluator evaluator_;
  ListScheduler scheduler_;
  LocalSearch local_search_;
  std::vector<ScoredOrder> elite_;  // the best found, different makespans or orders, best first
};

}  // namespace tenax::parallel
