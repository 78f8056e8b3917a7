#include "app/simulation/simulation_request.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenax::app {
namespace {

/// FT-HSDP, section 3.
constexpr double kFailureMinutes = 18, kRanksOfThem = 98304, kRepairMinutes = 10;
constexpr double kWeek_h = 168;
/// Runs of short steps are played in so many at most.
constexpr double kMostSteps = 20000;

resilience::SampleRules simulated_rules(const io::Deck& deck, int replicas) {
  const bool shrinks = deck.replicas.batch == io::ReplicaBatch::shrink;
  const std::int64_t unit = deck.batch.micro_batch_size * deck.parallel.data_parallel_size;
  std::int64_t batch = deck.batch.global_batch_size;
  if (replicas != deck.parallel.replicas)
    batch = unit * replicas * std::max<std::int64_t>(1, batch / (unit * deck.parallel.replicas));
  return {.batch = shrinks ? resilience::BatchRule::shrink : resilience::BatchRule::keep,
          .global_batch = batch,
          .replicas = replicas,
          .unit = unit};
}

double checkpoint_every_s(const io::CheckpointSection& section) {
  const bool is_timed = section.interval == 0 && section.interval_minutes > 0;
  return is_timed ? kMinute_s * section.interval_minutes : std::numeric_limits<double>::infinity();
}

/// Plays several steps as one where there are too many. One that is computed anew as a whole stays as it is.
void condense(SimulationOptions& options) {
  if (options.costs.repeats_step) return;
  const double steps = kHour_s * options.hours / options.costs.step_s;
  const int at_once = std::max(1, static_cast<int>(std::ceil(steps / kMostSteps)));
  options.costs.steps_at_once = at_once;
  options.samples.global_batch *= at_once;
  options.samples.unit *= at_once;
}

}  // namespace

SimulationRequest SimulationRequest::of(const io::Deck& deck, const CommandLine& line) {
  constexpr int kMostReplicas = 1024, kMostRanks = 1 << 20, kMostSeeds = 1000;
  constexpr double kMostMinutes = 1e7, kMostHours = 24 * 365;
  SimulationRequest request;
  SimulationOptions& options = request.options;
  options.replicas = static_cast<int>(line.integer("replicas", deck.parallel.replicas, 1, kMostReplicas));
  request.ranks = static_cast<int>(line.integer("ranks", deck.parallel.ranks(), 1, kMostRanks));
  request.seeds = static_cast<int>(line.integer("seeds", request.seeds, 1, kMostSeeds));
  request.costs = line.text("costs", "");
  options.costs = request.costs.empty() ? paper_costs() : measured_costs(request.costs, deck);
  options.min_replicas =
      static_cast<int>(std::min<std::int64_t>(deck.replicas.min_replicas, options.replicas));
  options.spares = static_cast<int>(line.integer("spares", deck.replicas.warm_spares, 0, kMostReplicas));
  options.hours =
      line.real("hours", deck.run.max_minutes > 0 ? deck.run.max_minutes * kMinute_s / kHour_s : kWeek_h,
                0.01, kMostHours);
  const double failure_minutes =
      kFailureMinutes * kRanksOfThem / (static_cast<double>(options.replicas) * request.ranks);
  options.failure_s = kMinute_s * line.real("failure-minutes", failure_minutes, 0, kMostMinutes);
  options.repair_s = kMinute_s * line.real("repair-minutes", kRepairMinutes, 0, kMostMinutes);
  options.samples = simulated_rules(deck, options.replicas);
  options.pipeline = static_cast<int>(deck.parallel.pipeline_parallel_size);
  options.checkpoint_every_s = checkpoint_every_s(deck.checkpoint);
  options.checkpoint_steps = std::max<std::int64_t>(0, deck.checkpoint.interval);
  options.evaluation_steps = deck.run.eval_interval;
  options.restart = {.delay_s = deck.replicas.restart_delay_s,
                     .limit = static_cast<int>(deck.replicas.restart_limit)};
  options.zones = deck.replicas.zones;
  condense(options);
  return request;
}

}  // namespace tenax::app
