// How near the adaptive planner comes to proven optima and to its lower bound, on random problems.
//   planner_bench exact [instances] [budget_ms] [seed]            S 3-4, N 6-8, with and without limits, proven optima
//   planner_bench bound S N [instances] [budget_ms] [seed]        any size, against the lower bound, without a limit
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/parallel/planner/random_instances.hpp"

namespace {

using namespace tenax::parallel;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Tally {
  int count = 0, met = 0;
  double gap = 0, worst = 0, longest_s = 0;
  void add(double excess, double seconds) {
    ++count;
    met += excess < 1e-9;
    gap += excess;
    worst = std::max(worst, excess);
    longest_s = std::max(longest_s, seconds);
  }
  void print(const char* name) const {
    std::printf("%-28s %5d: mean gap %.4f %%, worst %.3f %%, %.1f %% met, longest %.3f s\n", name, count,
                100 * gap / count, 100 * worst, 100.0 * met / count, longest_s);
  }
};

void against_optima(int instances, double budget_ms, unsigned seed) {
  std::mt19937 random(seed);
  Tally free_memory, limited_memory, bounds;
  int unproven = 0;
  for (int i = 0; i < instances; ++i) {
    const bool limited = i % 2 == 1;
    const int stages = 3 + static_cast<int>(random() % 2), microbatches = 6 + static_cast<int>(random() % 3);
    const ExactProblem problem = random_instance(random, stages, microbatches, limited);
    PlanRequest request = request_of(problem);
    request.budget.seconds = budget_ms * 1e-3;
    const auto start = std::chrono::steady_clock::now();
    const Plan plan = plan_adaptive(request);
    const double seconds = seconds_since(start);
    const auto makespan = static_cast<std::int64_t>(std::llround(plan.makespan_s * 1e3));
    const auto proving = std::chrono::steady_clock::now();
    const auto optimum = plan.optimal ? makespan : solve_exactly(problem, makespan, 3'000'000);
    const double proof_s = seconds_since(proving);
    if (!optimum) {
      ++unproven;
      std::printf("%4d S %d N %d limited %d: %lld unproven, bound %.0f, %.1f s\n", i, stages, microbatches,
                  limited, static_cast<long long>(makespan), plan.lower_bound_s * 1e3, proof_s);
      continue;
    }
    const double gap = static_cast<double>(makespan - *optimum) / static_cast<double>(*optimum);
    (limited ? limited_memory : free_memory).add(gap, seconds);
    bounds.add(1 - plan.lower_bound_s * 1e3 / static_cast<double>(*optimum), proof_s);
    if (gap > 0 || proof_s > 5)
      std::printf("%4d S %d N %d limited %d: %lld, optimum %lld, bound %.0f, proof %.1f s\n", i, stages,
                  microbatches, limited, static_cast<long long>(makespan), static_cast<long long>(*optimum),
                  plan.lower_bound_s * 1e3, proof_s);
    std::fflush(stdout);
  }
  free_memory.print("without limits");
  limited_memory.print("with limits");
  bounds.print("the bound below the optimum");
  std::printf("unproven: %d\n", unproven);
}

void against_bound(int stages, int microbatches, int instances, double budget_ms, unsigned seed) {
  std::mt19937 random(seed);
  Tally tally;
  for (int i = 0; i < instances; ++i) {
    PlanRequest request = request_of(random_instance(random, stages, microbatches, false));
    request.budget.seconds = budget_ms * 1e-3;
    const auto start = std::chrono::steady_clock::now();
    const Plan plan = plan_adaptive(request);
    const double seconds = seconds_since(start), gap = plan.makespan_s / plan.lower_bound_s - 1;
    if (gap > 1e-3)
      std::printf("%4d: %.3f ms, bound %.3f ms\n", i, plan.makespan_s * 1e3, plan.lower_bound_s * 1e3);
    tally.add(gap, seconds);
  }
  tally.print("above the lower bound");
}

double argument(int argc, char** argv, int index, double otherwise) {
  return index < argc ? std::atof(argv[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "exact";
  const auto number = [&](int index, double otherwise) { return argument(argc, argv, index, otherwise); };
  if (mode == "exact")
    against_optima(static_cast<int>(number(2, 200)), number(3, 100), static_cast<unsigned>(number(4, 1)));
  else
    against_bound(static_cast<int>(number(2, 8)), static_cast<int>(number(3, 32)),
                  static_cast<int>(number(4, 50)), number(5, 100), static_cast<unsigned>(number(6, 1)));
  return 0;
}
