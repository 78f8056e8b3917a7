// The planner and its bound against proven optima; and the proofs themselves against plain enumeration.
#include "tests/parallel/planner/exact_solver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "parallel/planner/order_evaluator.hpp"
#include "tests/parallel/planner/random_instances.hpp"

namespace tenax::parallel {
namespace {

std::int64_t to_ms(double seconds) { return std::llround(seconds * 1e3); }

/// Every word of a stage that is admissible.
std::vector<std::vector<std::uint8_t>> words_of(const PlanningProblem& problem, int stage) {
  std::vector<std::uint8_t> word;
  for (int k = 0; k < problem.microbatches; ++k)
    for (const std::uint8_t letter : {kForward, kBackward, kWeight}) word.push_back(letter);
  std::sort(word.begin(), word.end());
  std::vector<std::vector<std::uint8_t>> words;
  do
    if (is_admissible(problem, stage, word.data())) words.push_back(word);
  while (std::next_permutation(word.begin(), word.end()));
  return words;
}

/// The least makespan over every combination of words.
Nanoseconds enumerate(const PlanningProblem& problem, OrderEvaluator& evaluator, PassOrder& order,
                      int stage) {
  if (stage == problem.stages()) return evaluator.evaluate(order);
  Nanoseconds best = kNever;
  for (const auto& word : words_of(problem, stage)) {
    std::copy(word.begin(), word.end(), order.word(stage));
    best = std::min(best, enumerate(problem, evaluator, order, stage + 1));
  }
  return best;
}

TEST(SolveExactly, equals_plain_enumeration) {
  std::mt19937 random(51);
  for (int round = 0; round < 40; ++round) {
    const bool wide = round % 2 == 0;  // 3 stages of 2 microbatches, or 2 of 3
    ExactProblem instance = random_instance(random, wide ? 3 : 2, wide ? 2 : 3, round % 4 < 2);
    if (!instance.limit.empty())
      for (int& limit : instance.limit) limit = 1 + static_cast<int>(random() % 3);
    const PlanRequest request = request_of(instance);
    const PlanningProblem problem(request.microbatches, request.costs, request.limit);
    OrderEvaluator evaluator(problem);
    PassOrder order(problem.stages(), problem.ops_per_stage());
    EXPECT_EQ(solve_exactly(instance, 1'000'000, 10'000'000),
              enumerate(problem, evaluator, order, 0) / 1'000'000);
  }
}

TEST(PlanAdaptive, is_optimal_or_nearly_so_on_random_instances) {
  std::mt19937 random(52);
  constexpr int kInstances = 240;
  int proven = 0, optimal = 0;
  double gap = 0;
  for (int i = 0; i < kInstances; ++i) {
    const ExactProblem instance = random_instance(random, 3 + static_cast<int>(random() % 2),
                                                  6 + static_cast<int>(random() % 3), i % 2 == 1);
    PlanRequest request = request_of(instance);
    request.budget = {.seconds = 0, .evaluations = 40'000};
    const Plan plan = plan_adaptive(request);
    const std::int64_t makespan_ms = to_ms(plan.makespan_s);
    const auto optimum_ms = plan.optimal ? makespan_ms : solve_exactly(instance, makespan_ms, 300'000);
    if (!optimum_ms) continue;  // too hard to prove here
    ++proven;
    EXPECT_LE(plan.lower_bound_s, static_cast<double>(*optimum_ms) * 1e-3 + 1e-9) << "instance " << i;
    optimal += makespan_ms == *optimum_ms;
    gap += static_cast<double>(makespan_ms - *optimum_ms) / static_cast<double>(*optimum_ms);
  }
  EXPECT_GE(proven, 200);
  EXPECT_GE(optimal, 0.98 * proven);
  EXPECT_LE(gap / proven, 0.0005);
}

}  // namespace
}  // namespace tenax::parallel
