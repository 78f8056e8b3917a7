#include "parallel/schedule_search.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "parallel/warmup_counts.hpp"

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

void ScheduleSearch::construct() {
  std::vector<std::vector<int>> warmups;
  const auto add = [&](std::vector<int> warmup) {
    if (std::find(warmups.begin(), warmups.end(), warmup) == warmups.end())
      warmups.push_back(std::move(warmup));
  };
  for (const int extra : {0, 1, 2}) {
    add(adapted_warmup(problem_, 2, extra));
    add(period_warmup(problem_, 2, extra));
    add(period_warmup(problem_, 1, extra));
  }
  const int most = problem_.most_live(0);
  for (const int first : {most, std::min(2 * problem_.stages() - 1, most), (most + 1) / 2})
    add(even_warmup(problem_, first));
  for (const std::vector<int>& warmup : warmups) {
    if (done()) return;
    construct_with(warmup);
  }
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

void ScheduleSearch::improve() {
  const double scale = static_cast<double>(elite_.front().makespan);
  const std::int64_t steps = 40 * problem_.ops();
  for (std::size_t round = 0; !done(); ++round) {
    const ScoredOrder start = elite_[round % std::min<std::size_t>(elite_.size(), 4)];
    keep(local_search_.anneal(start, random_, steps, 0.01 * scale, 0.0002 * scale));
  }
}

}  // namespace tenax::parallel
