// PlanningProblem and PassOrder: what the planner's search works on, in flat arrays and whole
// nanoseconds, so that equal sums of costs are equal and an order is evaluated in microseconds.
//
// All microbatches cost the same, so nothing is lost by running every stage's F, B and W each in
// microbatch order: the k-th F of any schedule can be given microbatch k on all stages without
// moving an operation. An order is therefore a word over {F, B, W} per stage; its k-th F is
// microbatch k's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

using Nanoseconds = std::int64_t;
constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max() / 4;

Nanoseconds to_nanoseconds(double seconds);
inline double to_seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

/// What may be live on one stage: activations from F to B in full, from B to W their
/// `weight_share`.
struct StageRoom {
  double capacity = 0;  ///< in activations; infinite without a limit
  double weight_share = 1;

  /// Room for one more forward after so many passes of each kind?
  bool admits(int forwards, int backwards, int weights) const {
    return forwards - backwards + weight_share * (backwards - weights) + 1 <= capacity;
  }
};

struct StageTimes {
  Nanoseconds forward = 0, backward = 0, weight = 0;

  Nanoseconds of(std::uint8_t letter) const {
    return letter == 0 ? forward : letter == 1 ? backward : weight;
  }
  Nanoseconds sum() const { return forward + backward + weight; }
};

struct PlanningProblem {
  int microbatches = 1;
  std::vector<StageTimes> times;   // per stage
  std::vector<StageRoom> rooms;    // per stage
  std::vector<Nanoseconds> delay;  // per link
  std::vector<Nanoseconds> held;   // per link: of its delay, what no two messages of a direction overlap in

  PlanningProblem(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit);

  int stages() const { return static_cast<int>(times.size()); }
  int ops_per_stage() const { return 3 * microbatches; }
  int ops() const { return stages() * ops_per_stage(); }
  /// When a message arrives that is sent over `link` at `end`. `before`: when the last one in its direction does; 0 for
  /// the first.
  Nanoseconds arrival(std::size_t link, Nanoseconds end, Nanoseconds before) const {
    return std::max(end + delay[link], before + held[link]);
  }
  /// The most forwards between F and B that `stage` may hold: its limit, at most all.
  int most_live(int stage) const;
};

/// Letters of a word.
constexpr std::uint8_t kForward = 0, kBackward = 1, kWeight = 2;

class PassOrder {
 public:
  PassOrder() = default;
  PassOrder(int stages, int ops_per_stage)
      : ops_per_stage_(ops_per_stage),
        letters_(static_cast<std::size_t>(stages) * static_cast<std::size_t>(ops_per_stage)) {}

  int ops_per_stage() const { return ops_per_stage_; }
  std::uint8_t* word(int stage) { return letters_.data() + offset(stage); }
  const std::uint8_t* word(int stage) const { return letters_.data() + offset(stage); }
  bool operator==(const PassOrder&) const = default;

 private:
  std::size_t offset(int stage) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(ops_per_stage_);
  }
  int ops_per_stage_ = 0;
  std::vector<std::uint8_t> letters_;
};

/// A fused backward becomes B and W, which is never slower and never holds more. Microbatches are
/// renumbered in order.
PassOrder order_of(const PipelineSchedule& schedule, const PlanningProblem& problem);
PipelineSchedule schedule_of(const PassOrder& order, int stages);

/// True if the word computes each F before its B before its W, and holds no more than the stage's
/// limit.
bool is_admissible(const PlanningProblem& problem, int stage, const std::uint8_t* word);

/// Forwards before the first backward, per stage.
std::vector<int> warmup_of(const PipelineSchedule& schedule);

/// The search's random numbers: the same on every machine for a seed (splitmix64).
class SearchRandom {
 public:
  explicit SearchRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// In 0 … below − 1.
  int below(int below) { return static_cast<int>(next() % static_cast<std::uint64_t>(below)); }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace tenax::parallel
