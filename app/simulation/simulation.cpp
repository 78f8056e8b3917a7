#include "app/simulation/simulation.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "kernels/new_thread.hpp"

namespace tenax::app {

SeedResults play_seeds(const SimulationOptions& options, int seeds) {
  std::vector<SimulationResult> results(static_cast<std::size_t>(seeds));
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int seed = next++; seed < seeds; seed = next++)
      results[static_cast<std::size_t>(seed)] =
          SimulatedRun(options, static_cast<std::uint64_t>(seed + 1)).play();
  };
  std::vector<std::jthread> others;
  for (unsigned core = 1; core < std::max(1U, std::thread::hardware_concurrency()); ++core)
    others.push_back(kernels::new_jthread(work));
  work();
  others.clear();
  std::stable_sort(results.begin(), results.end(), [](const SimulationResult& a, const SimulationResult& b) {
    return a.time.effective_percent() < b.time.effective_percent();
  });
  return {.median = results[results.size() / 2], .worst = results.front()};
}

SimulationOptions as_synchronous(const SimulationOptions& options) {
  SimulationOptions job = options;
  job.replicas = job.min_replicas = job.samples.replicas = 1;
  job.spares = 0;
  job.hours *= options.replicas;  // as much work to play
  job.checkpoint_every_s = 0;
  job.checkpoint_steps = 0;
  SimulatedCosts& costs = job.costs;
  costs.detect_s = {0};  // with all that follows it is in the repair
  costs.reconfigure_s = costs.first_step_s = costs.state_s = costs.restart_s = costs.checkpoint_s = 0;
  costs.repeats_step = false;
  return job;
}

std::vector<SimulationVariant> variants_of(const SimulationOptions& options, int ranks) {
  SimulationOptions larger = options, spare = options, quick = options, slow = options;
  larger.replicas = larger.samples.replicas = options.replicas + 1;
  const std::int64_t unit = options.samples.unit;  // a replica brings whole ones
  larger.samples.global_batch +=
      unit * std::max<std::int64_t>(1, options.samples.global_batch / (unit * options.replicas));
  larger.failure_s *= static_cast<double>(options.replicas) / larger.replicas;
  ++spare.spares;
  quick.repair_s /= 2;
  slow.slow = FailSlowModel::of_job(ranks);
  return {{"one_more_replica", larger},
          {"one_more_spare", spare},
          {"half_the_repair_time", quick},
          {"fail_slows", slow}};
}

double relative_rate(const SimulationResult& result, const SimulationResult& base) {
  const auto rate = [](const SimulationResult& it) {
    return static_cast<double>(it.samples) / it.time.wall_s();
  };
  return rate(base) > 0 ? rate(result) / rate(base) : 0;
}

}  // namespace tenax::app
