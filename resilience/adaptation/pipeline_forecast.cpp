#include "resilience/adaptation/pipeline_forecast.hpp"

#include <algorithm>
#include <cassert>

#include "resilience/adaptation/delay_estimator.hpp"

namespace tenax::resilience {
namespace {

/// Pass times of different iterations differ by a few percent for no reason of interest.
constexpr double kPassNoise = 0.05;

void add_pass(LevelTracker& tracker, double seconds) {
  tracker.add(seconds, kPassNoise * seconds, kPassNoise * tracker.level());
}

/// The direction that says more: an estimate rather than a bound, the one of two estimates that is longer for certain, the
/// lower of two bounds.
const LinkMeasurement& deciding(const LinkMeasurement& down, const LinkMeasurement& up) {
  const bool down_estimates = down.samples > 0 && !down.at_most, up_estimates = up.samples > 0 && !up.at_most;
  if (down_estimates != up_estimates) return down_estimates ? down : up;
  if (!down_estimates && (down.samples == 0 || up.samples == 0)) return down.samples > 0 ? down : up;
  if (down_estimates) return down.at_least_s() >= up.at_least_s() ? down : up;
  return down.delay_s >= up.delay_s ? up : down;
}

}  // namespace

PipelineForecast::PipelineForecast(int stages, ForecastOptions options)
    : options_(options),
      links_(static_cast<std::size_t>(stages - 1), Link{LevelTracker(options.links)}),
      passes_(
          static_cast<std::size_t>(stages),
          Stage{LevelTracker(options.passes), LevelTracker(options.passes), LevelTracker(options.passes)}) {
  assert(options.stall_window >= 1);
}

void PipelineForecast::add(const PipelineMeasurement& measurement) {
  assert(measurement.stages.size() == passes_.size());
  for (std::size_t stage = 0; stage < passes_.size(); ++stage) {
    add_pass(passes_[stage].forward, measurement.stages[stage].passes.forward_s);
    add_pass(passes_[stage].backward_input, measurement.stages[stage].passes.backward_input_s);
    add_pass(passes_[stage].backward_weight, measurement.stages[stage].passes.backward_weight_s);
  }
  for (int link = 0; link < links(); ++link) add_link(link, measurement);
}

// What stalls a pass stalls messages as well: this iteration's longest stall may be all that a delay consists of, so that only
// a second iteration tells; delays below what most iterations' stalls are say nothing.
void PipelineForecast::add_link(int index, const PipelineMeasurement& measurement) {
  const auto at = static_cast<std::size_t>(index);
  Link& link = links_[at];
  const double stall_s =
      std::max(measurement.stages[at].passes.stall_s, measurement.stages[at + 1].passes.stall_s);
  add_stall(link, stall_s);
  const LinkMeasurement &down = measurement.down(at), &up = measurement.up(at);
  const LinkMeasurement& measured = deciding(down, up);
  if (measured.samples == 0) return;
  link.overhead_s = std::max(down.overhead_s, up.overhead_s);
  LevelTracker& delay = link.delay;
  // Before anything is known, a bound says nothing.
  if (measured.at_most && !delay.known()) return;
  const double threshold =
      std::max({material_s(index), options_.level_share * delay.level(), 2 * measured.error_s});
  // Of all that the measurement leaves possible, what is nearest to what was known.
  const double level = delay.known() ? delay.level() : 0;
  delay.add(std::clamp(level, measured.at_least_s(), measured.delay_s),
            measured.spread_s + measured.error_s + stall_s, threshold);
}

void PipelineForecast::add_stall(Link& link, double stall_s) const {
  link.stalls_s.push_back(stall_s);
  if (link.stalls_s.size() > options_.stall_window) link.stalls_s.pop_front();
}

std::vector<parallel::StageCosts> PipelineForecast::pass_times() const {
  std::vector<parallel::StageCosts> stages;
  for (const Stage& stage : passes_)
    stages.push_back({stage.forward.level(), stage.backward_input.level(), stage.backward_weight.level()});
  return stages;
}

parallel::PipelineCosts PipelineForecast::costs() const {
  parallel::PipelineCosts costs{.stages = pass_times(), .link_delay_s = {}, .wire_s = options_.wire_s};
  for (const Link& link : links_)
    costs.link_delay_s.push_back(link.delay.known() ? link.delay.expected() : 0);
  return costs;
}

std::vector<parallel::PipelineCosts> PipelineForecast::scenarios() const {
  std::size_t telling = 1;
  for (const Link& link : links_) telling = std::max(telling, link.delay.telling());
  std::vector<parallel::PipelineCosts> scenarios(telling, costs());
  for (std::size_t age = 0; age < telling; ++age)
    for (std::size_t link = 0; link < links_.size(); ++link) {
      const LevelTracker& delay = links_[link].delay;
      if (delay.restless() && age < delay.telling()) scenarios[age].link_delay_s[link] = delay.value(age);
    }
  return scenarios;
}

bool PipelineForecast::changed() const {
  const auto link_changed = [](const Link& link) { return link.delay.changed(); };
  const auto stage_changed = [](const Stage& stage) {
    return stage.forward.changed() || stage.backward_input.changed() || stage.backward_weight.changed();
  };
  return std::any_of(links_.begin(), links_.end(), link_changed) ||
         std::any_of(passes_.begin(), passes_.end(), stage_changed);
}

double PipelineForecast::material_s(int link) const {
  double sum_s = 0;
  for (int stage = 0; stage < static_cast<int>(passes_.size()); ++stage) sum_s += stage_s(stage);
  const double mean_pass_s = sum_s / static_cast<double>(3 * passes_.size());
  const std::deque<double>& stalls_s = links_[static_cast<std::size_t>(link)].stalls_s;
  const double noise_s = quantile({stalls_s.begin(), stalls_s.end()}, options_.stall_quantile);
  return std::max({options_.floor_s, options_.material_share * mean_pass_s, noise_s});
}

std::vector<double> PipelineForecast::material_s_of_link() const {
  std::vector<double> material_s_of_link;
  for (int link = 0; link < links(); ++link) material_s_of_link.push_back(material_s(link));
  return material_s_of_link;
}

double PipelineForecast::stage_s(int stage) const {
  const Stage& of = passes_[static_cast<std::size_t>(stage)];
  return of.forward.level() + of.backward_input.level() + of.backward_weight.level();
}

}  // namespace tenax::resilience
