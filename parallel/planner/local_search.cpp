#include "parallel/planner/local_search.hpp"

#include <algorithm>
#include <cmath>

namespace tenax::parallel {

LocalSearch::LocalSearch(const PlanningProblem& problem, BudgetMeter& budget, Nanoseconds target)
    : problem_(problem), budget_(budget), target_(target), evaluator_(problem), path_(problem) {}

bool LocalSearch::apply(PassOrder& order, const Move& move) {
  std::uint8_t* word = order.word(move.stage);
  if (move.from <= move.to)
    std::rotate(word + move.from, word + move.from + 1, word + move.to + 1);
  else
    std::rotate(word + move.to, word + move.from, word + move.from + 1);
  return is_admissible(problem_, move.stage, word);
}

ScoredOrder LocalSearch::anneal(const ScoredOrder& start, SearchRandom& random, std::int64_t steps,
                                double hot, double cold) {
  ScoredOrder current = start, best = start;
  evaluator_.evaluate(current.order);
  path_.index(current.order);
  path_.trace(current.order, evaluator_, random);
  double temperature = hot;
  const double cooling = std::pow(cold / hot, 1.0 / static_cast<double>(std::max<std::int64_t>(steps, 1)));
  for (std::int64_t step = 0; step < steps && best.makespan > target_; ++step, temperature *= cooling) {
    const Move move = path_.propose(current.order, random);
    if (move.from == move.to) continue;
    const double worse = -temperature * std::log(1 - random.unit());
    const Nanoseconds allowed = current.makespan + static_cast<Nanoseconds>(worse);
    Nanoseconds makespan = kNever;
    if (apply(current.order, move)) {
      makespan = evaluator_.evaluate(current.order, allowed);
      if (!budget_.spend()) break;
    }
    if (makespan > allowed) {
      apply(current.order, {move.stage, move.to, move.from});
      continue;
    }
    current.makespan = makespan;
    if (makespan < best.makespan) best = current;
    path_.index(current.order, move.stage);
    path_.trace(current.order, evaluator_, random);
  }
  return best;
}

}  // namespace tenax::parallel
