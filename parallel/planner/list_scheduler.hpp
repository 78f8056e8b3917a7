// ListScheduler: builds a PassOrder along its own timeline, each idle stage picking its next pass
// by a rule (Algorithms 3 and 4 of PipeMorph, NSDI 2026, corrected, and their variants).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "parallel/planner/planning_problem.hpp"
#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

/// What a stage prefers once its warm-up forwards have run. W has the lowest priority everywhere.
enum class Preference : std::uint8_t {
  alternate,  ///< strictly B and F in turn: `warmup` microbatches stay between F and B while there are forwards left
  backward,  ///< B, then F while fewer than `cap` microbatches are between F and B (the paper's B > F > W)
  forward    ///< F while fewer than `cap` are, then B
};

struct StageRule {
  Preference preference = Preference::alternate;
  int warmup = 1;            ///< non-increasing over stages, 1 … most_live()
  int cap = 1;               ///< warmup … most_live(); alternate keeps to warmup
  Nanoseconds patience = 0;  ///< a W does not start when an F or B is known to arrive within this time
};

/// Keeps its arrays between calls: one per search. The problem must outlive it.
class ListScheduler {
 public:
  explicit ListScheduler(const PlanningProblem& problem);

  /// With `random`, about one in `rarity` choices between a ready B and a ready F is turned round.
  PassOrder build(const std::vector<StageRule>& rules, SearchRandom* random = nullptr, int rarity = 8);

 private:
  struct Stage {
    int forwards = 0, backwards = 0, weights = 0;  // started
    Nanoseconds busy_until = 0;
    Nanoseconds decides_at = kNever;  // when there may be something to choose
  };

  void reset();
  int next_to_decide() const;
  /// When the stage's next F or B can start, kNever where its rule or its room forbids one now.
  std::pair<Nanoseconds, Nanoseconds> next_arrivals(int s, const StageRule& rule) const;
  int choose(int s, const StageRule& rule, Nanoseconds now);
  void start(int s, std::uint8_t letter, Nanoseconds now, PassOrder& order);
  void send(std::vector<Nanoseconds>& arrivals, int s, int microbatch, std::size_t link, Nanoseconds sent);
  void deliver(std::vector<Nanoseconds>& arrivals, int s, int microbatch, Nanoseconds time);
  std::size_t at(int s, int microbatch) const;

  const PlanningProblem& problem_;
  std::vector<Stage> stages_;
  std::vector<Nanoseconds> forward_arrival_, backward_arrival_;  // [stage][microbatch], once known
  SearchRandom* random_ = nullptr;
  int rarity_ = 8;
};

struct GeneratorOptions {
  /// Forwards a stage runs before its first B: non-increasing over stages, each in 1 …
  /// min(microbatches, limit of the stage).
  std::vector<int> warmup;
  ActivationLimit limit;
};

/// Stage s runs warmup[s] forwards, then B and F strictly in turn, so that warmup[s] microbatches
/// are between F and B as long as there are forwards left, and fills waiting time and the end with
/// W. A forward that the activation limit does not admit waits for W's. All passes run in
/// microbatch order. Times are compared in whole nanoseconds, so that equal sums of costs are
/// equal.
PipelineSchedule generate_schedule(int microbatches, const PipelineCosts& costs,
                                   const GeneratorOptions& options);

}  // namespace tenax::parallel
