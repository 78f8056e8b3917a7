#include "resilience/pipeline_forecast.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::resilience {
namespace {

/// Pass times of different iterations differ by a few percent for no reason of interest.
constexpr double kPassNoise = 0.05;

void add_pass(LevelTracker& tracker, double seconds) {
  tracker.add(seconds, kPassNoise * seconds, kPassNoise * tracker.level());
}

/// The direction that says more: an estimate rather than a bound, the longer of two estimates, the lower of
/// two bounds.
const LinkMeasurement& deciding(const LinkMeasurement& down, const LinkMeasurement& up) {
  const bool down_estimates = down.samples > 0 && !down.at_most, up_estimates = up.samples > 0 && !up.at_most;
  if (down_estimates != up_estimates) return down_estimates ? down : up;
  if (!down_estimates && (down.samples == 0 || up.samples == 0)) return down.samples > 0 ? down : up;
  return (down.delay_s >= up.delay_s) == down_estimates ? down : up;
}

}  // namespace

PipelineForecast::PipelineForecast(int stages, ForecastOptions options)
    : options_(options),
      links_(static_cast<std::size_t>(stages - 1), Link{LevelTracker(options.links)}),
      passes_(
          static_cast<std::size_t>(stages),
          Stage{LevelTracker(options.passes), LevelTracker(options.passes), LevelTracker(options.passes)}) {}

void PipelineForecast::add(const PipelineMeasurement& measurement) {
  assert(measurement.stages.size() == passes_.size());
  assert(measurement.down.size() == links_.size() && measurement.up.size() == links_.size());
  for (std::size_t stage = 0; stage < passes_.size(); ++stage) {
    add_pass(passes_[stage].forward, measurement.stages[stage].forward_s);
    add_pass(passes_[stage].backward_input, measurement.stages[stage].backward_input_s);
    add_pass(passes_[stage].backward_weight, measurement.stages[stage].backward_weight_s);
  }
  for (std::size_t link = 0; link < links_.size(); ++link)
    add_link(links_[link], measurement.down[link], measurement.up[link]);
}

void PipelineForecast::add_link(Link& link, const LinkMeasurement& down, const LinkMeasurement& up) {
  const LinkMeasurement& measured = deciding(down, up);
  if (measured.samples == 0) return;
  link.overhead_s = std::max(down.overhead_s, up.overhead_s);
  LevelTracker& delay = link.delay;
  const double threshold =
      std::max({material_s(), options_.level_share * delay.level(), 2 * measured.error_s});
  // A bound above the level says nothing new; before anything is known it says nothing at all.
  const bool says_nothing = measured.at_most && (!delay.known() || measured.delay_s >= delay.level());
  if (says_nothing && !delay.known()) return;
  delay.add(says_nothing ? delay.level() : measured.delay_s, measured.spread_s + measured.error_s, threshold);
}

std::vector<parallel::StageCosts> PipelineForecast::pass_times() const {
  std::vector<parallel::StageCosts> stages;
  for (const Stage& stage : passes_)
    stages.push_back({stage.forward.level(), stage.backward_input.level(), stage.backward_weight.level()});
  return stages;
}

parallel::PipelineCosts PipelineForecast::costs() const {
  parallel::PipelineCosts costs{.stages = pass_times(), .link_delay_s = {}};
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

double PipelineForecast::material_s() const {
  double sum_s = 0;
  for (int stage = 0; stage < static_cast<int>(passes_.size()); ++stage) sum_s += stage_s(stage);
  const double mean_pass_s = sum_s / static_cast<double>(3 * passes_.size());
  return std::max(options_.floor_s, options_.material_share * mean_pass_s);
}

double PipelineForecast::stage_s(int stage) const {
  const Stage& of = passes_[static_cast<std::size_t>(stage)];
  return of.forward.level() + of.backward_input.level() + of.backward_weight.level();
}

}  // namespace tenax::resilience
