#include "parallel/planner/schedule_search.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "parallel/planner/baselines.hpp"

namespace tenax::parallel {
namespace {

constexpr std::size_t kElite = 8;

// All stages by one preference, caps `surplus` above the warm-up, patience as a share of each stage's W.
std::vector<StageRule> rules_for(const PlanningProblem& problem, const std::vector<int>& warmup,
                                 Preference preference, int surplus, double patience) {
  std::vector<StageRule> rules;
  for (int s = 0; s < problem.stages(); ++s) {
    const auto u = static_cast<std::size_t>(s);
    const auto wait = static_cast<Nanoseconds>(patience * static_cast<double>(problem.times[u].weight));
    rules.push_back({preference, warmup[u], std::min(warmup[u] + surplus, problem.most_live(s)), wait});
  }
  return rules;
}

}  // namespace

ScheduleSearch::ScheduleSearch(const PlanningProblem& problem, BudgetMeter& budget, std::uint64_t seed,
                               Nanoseconds target)
    : problem_(problem),
      budget_(budget),
      random_(seed),
      target_(target),
      evaluator_(problem),
      scheduler_(problem),
      local_search_(problem, budget, target) {}

void ScheduleSearch::offer(PassOrder order) {
  budget_.spend();
  for (int s = 0; s < problem_.stages(); ++s)
    if (!is_admissible(problem_, s, order.word(s))) return;
  const Nanoseconds makespan = evaluator_.evaluate(order);
  if (makespan != kNever) keep({std::move(order), makespan});
}

void ScheduleSearch::keep(ScoredOrder scored) {
  const auto place =
      std::lower_bound(elite_.begin(), elite_.end(), scored,
                       [](const ScoredOrder& a, const ScoredOrder& b) { return a.makespan < b.makespan; });
  if (place != elite_.end() && place->makespan == scored.makespan) return;
  if (place == elite_.end() && elite_.size() == kElite) return;
  elite_.insert(place, std::move(scored));
  if (elite_.size() > kElite) elite_.pop_back();
}

void ScheduleSearch::run() {
  construct();
  improve();
  assert(!elite_.empty());
}

// What does best most often comes first, and a little of it whatever the budget: for problems so large that the budget
// allows no more.
void ScheduleSearch::construct() {
  struct Choice {
    std::vector<int> warmup;
    Preference preference;
    int surplus;
    double patience;
  };
  const auto period = [&](int least, int extra) { return period_warmup(problem_, least, extra); };
  const int most = problem_.most_live(0), all = problem_.microbatches;
  const std::vector<Choice> first = {{period(2, 0), Preference::backward, all, 0},
                                     {adapted_warmup(problem_, 2, 0), Preference::alternate, 0, 0},
                                     {period(2, 1), Preference::alternate, 0, 0},
                                     {period(1, 0), Preference::forward, 0, 1},
                                     {period(1, 0), Preference::forward, 0, 0.5},
                                     {period(1, 0), Preference::backward, 0, 1},
                                     {adapted_warmup(problem_, 2, 0), Preference::forward, 0, 0},
                                     {even_warmup(problem_, most), Preference::forward, 0, 0},
                                     {period(1, 1), Preference::forward, 1, 1}};
  constexpr std::size_t kAlways = 4;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (met() || (i >= kAlways && !budget_.left())) return;
    offer(scheduler_.build(
        rules_for(problem_, first[i].warmup, first[i].preference, first[i].surplus, first[i].patience)));
  }
  std::vector<std::vector<int>> warmups;
  for (const int extra : {0, 1, 2})
    for (auto& warmup : {adapted_warmup(problem_, 2, extra), period(2, extra), period(1, extra)})
      if (std::find(warmups.begin(), warmups.end(), warmup) == warmups.end()) warmups.push_back(warmup);
  for (const int count : {most, std::min(2 * problem_.stages() - 1, most), (most + 1) / 2})
    warmups.push_back(even_warmup(problem_, count));
  for (const std::vector<int>& warmup : warmups) construct_with(warmup);
}

void ScheduleSearch::construct_with(const std::vector<int>& warmup) {
  for (const double patience : {0.0, 0.5, 0.25, 0.75, 1.0}) {
    if (done()) return;
    offer(scheduler_.build(rules_for(problem_, warmup, Preference::alternate, 0, patience)));
    for (const int surplus : {0, 1, 2, problem_.microbatches})
      for (const Preference preference : {Preference::backward, Preference::forward}) {
        if (done()) return;
        offer(scheduler_.build(rules_for(problem_, warmup, preference, surplus, patience)));
      }
  }
}

// Each round anneals one of the best orders, every other time from twice as hot: small problems have deeper valleys. The
// constants were tuned on random problems (tests/bench/planner_bench.cpp).
void ScheduleSearch::improve() {
  constexpr std::int64_t kStepsPerPass = 40;
  constexpr double kHot = 0.4, kCold = 0.02;  // of a pass
  constexpr std::size_t kStarts = 4;
  double pass = 0;
  for (const StageTimes& times : problem_.times)
    pass += static_cast<double>(times.sum()) / (3.0 * problem_.stages());
  for (std::size_t round = 0; !done(); ++round) {
    const ScoredOrder start = elite_[round % std::min(elite_.size(), kStarts)];
    const double hot = round % 2 == 0 ? kHot : 2 * kHot;
    keep(local_search_.anneal(start, random_, kStepsPerPass * problem_.ops(), hot * pass, kCold * pass));
  }
}

}  // namespace tenax::parallel
