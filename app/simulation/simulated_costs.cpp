#include "app/simulation/simulated_costs.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "app/effective_text.hpp"
#include "app/units.hpp"
#include "io/json_parse.hpp"
#include "io/run/run_series.hpp"
#include "kernels/error.hpp"
#include "resilience/effective_time/recorded_time.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<double>;

double median_of(Values values, double otherwise) {
  std::erase_if(values, [](double value) { return !(value >= 0); });
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// All numbers of the run's events, by "event.member". A replica that is given up had been lost before.
std::map<std::string, Values> figures_of(const fs::path& run_directory) {
  std::map<std::string, Values> figures;
  io::for_each_json_line(run_directory / "events.jsonl", [&](const nlohmann::json& line) {
    const std::string event = io::text_in(line, "event");
    if (io::text_in(line, "reason") == resilience::name_of(resilience::LossReason::given_up)) return;
    for (const auto& [name, value] : line.items())
      if (value.is_number()) figures[event + "." + name].push_back(value.get<double>());
  });
  return figures;
}

/// What the last launch lost to checkpoints, for each of those that it wrote at `times_s`. They are written in the background:
/// the seconds of their events are mostly no loss.
double checkpoint_stall_s(const fs::path& run_directory, const io::Deck& deck, const Values& times_s) {
  const auto recorded = resilience::read_recorded_time(run_directory, effective_options(deck, 0));
  if (!recorded) return 0;
  const double begin_s = recorded->account.begin_s();
  const auto written =
      std::count_if(times_s.begin(), times_s.end(), [&](double time_s) { return time_s >= begin_s; });
  if (written == 0) return 0;
  const resilience::TimeByCause time(recorded->spans());
  return time.lost_s(resilience::LostCause::checkpoint) / static_cast<double>(written);
}

}  // namespace

SimulatedCosts paper_costs() {
  return {.step_s = 20,
          .heartbeat_s = 1,
          .dead_s = 60,
          .reconfigure_s = 5,
          .repeats_step = true,
          .first_step_s = 100,
          .state_s = 15,
          .join_wait_s = 0};
}

SimulatedCosts measured_costs(const fs::path& run_directory, const io::Deck& deck) {
  const double step_s = median_of(io::read_series(run_directory).seconds, 0);
  if (step_s <= 0)
    throw kernels::Error(kernels::Scope::usage,
                         "--costs " + run_directory.string() + ": no run that has trained steps");
  std::map<std::string, Values> figures = figures_of(run_directory);
  const auto figure = [&](const char* name, double otherwise) { return median_of(figures[name], otherwise); };
  Values changes = figures["epoch.reconfigure_seconds"];
  std::erase(changes, 0.0);  // the first epoch of a run changes nothing
  const double state_s = figure("replica_join.state_seconds", 0);
  const double restart_s = std::max(0.0, figure("replica_join.seconds", 0) - state_s);
  return {.step_s = step_s,
          .heartbeat_s = kSecondsPerMs * static_cast<double>(deck.replicas.heartbeat_ms),
          .dead_s = kSecondsPerMs * static_cast<double>(deck.replicas.dead_ms),
          .detect_s = figures["replica_lost.detect_seconds"],
          .reconfigure_s = median_of(changes, 0),
          .repeats_step = false,
          .first_step_s = figure("replica_join.first_step_seconds", 0),
          .state_s = state_s,
          .join_wait_s = kSecondsPerMs * static_cast<double>(deck.replicas.join_wait_ms),
          .restart_s = restart_s,
          .checkpoint_s = checkpoint_stall_s(run_directory, deck, figures["checkpoint.time"]),
          .evaluation_s = figure("evaluation.seconds", 0)};
}

}  // namespace tenax::app
