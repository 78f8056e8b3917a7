#include "app/simulation/simulation_text.hpp"

#include <algorithm>

#include "app/units.hpp"
#include "io/json.hpp"

namespace tenax::app {

namespace {

resilience::LostCause cause(std::size_t index) { return static_cast<resilience::LostCause>(index); }

io::JsonObject lost_json(const resilience::TimeByCause& time) {
  io::JsonObject lost;
  for (std::size_t i = 0; i < resilience::kLostCauses; ++i)
    lost.add(resilience::name_of(cause(i)), time.lost_s(cause(i)));
  return lost;
}

io::JsonObject seeds_json(const SeedResults& results) {
  return io::JsonObject{}
      .add("effective_percent", results.median.time.effective_percent())
      .add("worst_effective_percent", results.worst.time.effective_percent())
      .add("lost_seconds", lost_json(results.median.time))
      .add("worst_lost_seconds", lost_json(results.worst.time));
}

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

double percent(const resilience::TimeByCause& time, resilience::LostCause lost) {
  return 100 * time.lost_s(lost) / time.wall_s();
}

std::string lost_text(const SeedResults& run) {
  std::string text = "\nlost to          seconds, median seed           worst seed\n";
  for (std::size_t i = 0; i < resilience::kLostCauses; ++i) {
    const resilience::TimeByCause &median = run.median.time, &worst = run.worst.time;
    if (median.lost_s(cause(i)) == 0 && worst.lost_s(cause(i)) == 0) continue;
    text += format("  %-12s %12.0f %7.2f %% %12.0f %7.2f %%\n", words(resilience::name_of(cause(i))).c_str(),
                   median.lost_s(cause(i)), percent(median, cause(i)), worst.lost_s(cause(i)),
                   percent(worst, cause(i)));
  }
  return text;
}

}  // namespace

std::string simulation_title(const SimulationReport& report) {
  const SimulationOptions& options = report.request.options;
  const std::string failures = options.failure_s > 0
                                   ? format("a failure every %.3g minutes, repaired in %.3g",
                                            options.failure_s / kMinute_s, options.repair_s / kMinute_s)
                                   : "no failures";
  return format("%d replicas of %d ranks, %d spare, %.4g hours; ", options.replicas, report.request.ranks,
                options.spares, options.hours) +
         failures;
}

std::string simulation_json(const SimulationReport& report) {
  const SimulationRequest& request = report.request;
  const SimulationResult& median = report.run.median;
  std::vector<io::JsonObject> variants;
  for (const auto& [name, results] : report.variants)
    variants.push_back(io::JsonObject{}
                           .add("name", name)
                           .append(seeds_json(results))
                           .add("relative_samples_per_second", relative_rate(results.median, median)));
  return io::JsonObject{}
      .add("replicas", request.options.replicas)
      .add("ranks", request.ranks)
      .add("spares", request.options.spares)
      .add("hours", request.options.hours)
      .add("seeds", request.seeds)
      .add("failure_minutes", request.options.failure_s / kMinute_s)
      .add("repair_minutes", request.options.repair_s / kMinute_s)
      .add("costs", request.costs.empty() ? "paper" : request.costs.string())
      .append(seeds_json(report.run))
      .add("failures", median.failures)
      .add("replicas_lost", median.losses)
      .add("epochs", median.epochs)
      .add("steps", median.steps)
      .add("given_up", median.given_up)
      .add("synchronous", seeds_json(report.synchronous))
      .add("variants", variants)
      .text();
}

std::string simulation_text(const SimulationReport& report) {
  const SimulationRequest& request = report.request;
  const SeedResults& run = report.run;
  std::string text =
      simulation_title(report) + format(", %d seeds\n", request.seeds) + "costs: " +
      (request.costs.empty() ? "FT-HSDP's own (section 6.1)" : "measured by " + request.costs.string()) +
      format("; of the median seed: %lld failures, %lld replicas lost, %lld epochs, %lld steps\n",
             static_cast<long long>(run.median.failures), static_cast<long long>(run.median.losses),
             static_cast<long long>(run.median.epochs), static_cast<long long>(run.median.steps));
  text += format("\neffective time %.1f %%, worst seed %.1f %%; as one synchronous job %.1f %%\n",
                 run.median.time.effective_percent(), run.worst.time.effective_percent(),
                 report.synchronous.median.time.effective_percent());
  if (run.median.given_up > 0)
    text += format("%d replicas are given up for good (replicas.restart_limit)\n", run.median.given_up);
  text += lost_text(run) + "\nwith             effective time   samples in a second\n";
  for (const auto& [name, results] : report.variants)
    text += format("  %-22s %6.1f %%             %+6.1f %%\n", words(name).c_str(),
                   results.median.time.effective_percent(),
                   100 * (relative_rate(results.median, run.median) - 1));
  return text;
}

}  // namespace tenax::app
