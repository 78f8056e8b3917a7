#include "resilience/adaptation/pipeline_adaptation.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "kernels/deadline.hpp"
#include "kernels/new_thread.hpp"

namespace tenax::resilience {

using comm::Path;

namespace {

/// How long a boundary waits for a plan: most are found within it, the others are taken at the next boundary.
constexpr auto kPlanningPause = std::chrono::milliseconds(20);
/// Steps between two attempts at a direct path that broke.
// A path that stays dead is tried less and less often: a vain try holds all ranks up.
constexpr std::int64_t kRetrySteps = 10, kMostRetrySteps = 640;

}  // namespace

bool PipelineAdaptation::is_needed(parallel::Replica& replica, const AdaptationSettings& settings) {
  return replica.layout().grid.pipeline > 1 &&
         (settings.reschedule || replica.pipeline().links().adaptable());
}

PipelineAdaptation::PipelineAdaptation(parallel::Replica& replica, const parallel::PipelineContext& context,
                                       const AdaptationSettings& settings)
    : answers_(settings.answers), replica_(replica), links_(replica.pipeline().links()) {
  const parallel::Layout& layout = replica.layout();
  const parallel::GridCoordinates me = replica.coordinates();
  const double deadline_s = context.options.deadline_s;
  const parallel::GroupSplit part = replica.grid().split(parallel::GroupKind::pipeline, context.world.rank());
  control_ = context.world.control_endpoint(part.color, part.key);
  const int place_in_pipeline = me.pipeline * layout.grid.tensor + me.tensor;
  group_ =
      comm::create_control_group(context.world.control_endpoint(me.data, place_in_pipeline), {deadline_s});
  const int microbatches = layout.schedule.microbatches();
  // Whoever only measures does so now and then: then clocks have run apart.
  const int realign_interval = answers_ ? MonitorOptions{}.realign_interval : 1;
  monitor_ = std::make_unique<PipelineMonitor>(
      microbatches, *control_, *group_,
      MonitorOptions{.lane = me.tensor, .realign_interval = realign_interval, .deadline_s = deadline_s});
  const auto link_count = static_cast<std::size_t>(layout.grid.pipeline - 1);
  paths_.assign(link_count, {settings.paths == PathChoice::delegated_only, 1});
  broken_.assign(link_count, 0);
  if (answers_ && leads())
    controller_ =
        std::make_unique<AdaptationController>(microbatches, layout.limit, layout.schedule, settings);
}

// A plan that nobody waits for any more is let run out: it takes a tenth of a second.
PipelineAdaptation::~PipelineAdaptation() = default;

// A plan for the old number is waited for, and dropped.
// The runner knows for each number the order that ran last.
void PipelineAdaptation::set_microbatches(int microbatches) {
  auto home = homes_.find(microbatches);
  if (home == homes_.end())
    home = homes_.emplace(microbatches, parallel::plan_schedule(replica_.layout(), microbatches)).first;
  replica_.pipeline().set_schedule(home->second, replica_.pipeline().costs());
  monitor_->set_microbatches(microbatches);
  planning_ = {};
  if (controller_) controller_->set_microbatches(microbatches, home->second);
}

std::vector<AdaptationEvent> PipelineAdaptation::finish_step(std::int64_t step, const PassMeasurement& passes,
                                                             Agreed agreed) {
  if (!answers_) {
    agreed.measures ? static_cast<void>(measure(passes)) : skip_step();
    return {};
  }
  std::vector<AdaptationEvent> events;
  if (agreed.has_events) events = gather_events(false);
  adapt(step, passes, agreed.path_failed);
  if (has_siblings()) return events;
  for (AdaptationEvent& event : take_events(false)) events.push_back(std::move(event));
  return events;
}

void PipelineAdaptation::skip_step() {
  monitor_->skip_step();
  delays_ = {};
  measured_at_s_ = 0;
}

PipelineMeasurement PipelineAdaptation::measure(const PassMeasurement& passes) {
  const PipelineMeasurement measurement = monitor_->finish_step(passes);
  measured_at_s_ = kernels::steady_now_s();
  const LinkMeasurement &activations = monitor_->own().activations, &gradients = monitor_->own().gradients;
  delays_ = {activations.delay_s, gradients.delay_s, activations.at_most, gradients.at_most};
  return measurement;
}

// What was decided is remembered before it is carried out: if that fails, it is told all the same.
void PipelineAdaptation::adapt(std::int64_t step, const PassMeasurement& passes, bool path_failed) {
  const auto conditions = look_at_paths(step, path_failed);
  const PipelineMeasurement measurement = measure(passes);
  std::string text;
  if (leads()) text = to_text(decide(step, measurement, conditions));
  const auto decision = decision_of_text(group_->broadcast(text, 0));
  if (leads()) {  // told once, with what they achieved
    events_.insert(events_.end(), decision.achieved.begin(), decision.achieved.end());
    std::erase_if(awaited_, [&](const auto& event) { return event.step < step; });
    awaited_.insert(awaited_.end(), decision.events.begin(), decision.events.end());
  }
  if (links_.adaptable()) apply_paths(decision.links);
  if (decision.schedule)
    replica_.pipeline().set_schedule(*decision.schedule, decision.costs);
  else if (!decision.costs.stages.empty())
    replica_.pipeline().set_costs(decision.costs);
}

// How the links were run in this iteration, and which direct paths can be used from now on.
std::vector<LinkCondition> PipelineAdaptation::look_at_paths(std::int64_t step, bool path_failed) {
  std::vector<LinkCondition> conditions;
  for (const LinkPath& path : paths_) conditions.push_back({.delegated = path.delegated});
  if (path_failed) {
    const std::vector<char> unbroken = learn_failures(conditions);
    world_has_broken_ = true;
    retry_pause_ = kRetrySteps;
    next_retry_ = step + retry_pause_;
    restore_unbroken(unbroken, conditions);
  } else if (world_has_broken_ && step >= next_retry_) {
    retry_direct(broken_);
    retry_pause_ = std::min(2 * retry_pause_, kMostRetrySteps);
    next_retry_ = step + retry_pause_;
  }
  for (std::size_t i = 0; i < conditions.size(); ++i) conditions[i].direct_usable = broken_[i] == 0;
  return conditions;
}

AdaptationDecision PipelineAdaptation::decide(std::int64_t step, const PipelineMeasurement& measurement,
                                              const std::vector<LinkCondition>& conditions) {
  controller_->observe(step, measurement, conditions);
  if (controller_->wants_plan() && !planning_.valid()) look_for_plan();
  if (!planning_.valid() || planning_.wait_for(kPlanningPause) != std::future_status::ready)
    return controller_->decide();
  const parallel::Plan plan = planning_.get();
  return controller_->decide(&plan);
}

// Where there is no thread for it, training goes on as it is, and the next boundary tries again.
void PipelineAdaptation::look_for_plan() {
  try {
    planning_ =
        kernels::new_async([request = controller_->request()] { return parallel::plan_adaptive(request); });
  } catch (const kernels::Error&) {
    controller_->retract_request();
  }
}

void PipelineAdaptation::apply_paths(const std::vector<LinkPath>& paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    assert(paths[i].delegated || !broken_[i]);
    if (paths[i] == paths_[i]) continue;
    paths_[i] = paths[i];
    links_.set_path(static_cast<int>(i), paths[i].delegated ? Path::delegated : Path::direct,
                    paths[i].delegates);
  }
}

// Everybody learns which direct paths were given up in the iteration, and what still came over them. Returns those that nobody
// saw break, where another did; if none did, any may have.
std::vector<char> PipelineAdaptation::learn_failures(std::vector<LinkCondition>& conditions) {
  const std::size_t links = conditions.size();
  std::vector<double> sums(4 * links, 0);  // failures, messages over the direct path, over delegates, breaks
  for (std::size_t i = 0; i < links; ++i) {
    const comm::Arrivals arrivals = links_.arrivals(static_cast<int>(i));
    sums[i] = links_.failure(static_cast<int>(i)).empty() ? 0 : 1;
    sums[links + i] = arrivals.direct;
    sums[2 * links + i] = arrivals.delegated;
    sums[3 * links + i] = links_.direct_path_broke(static_cast<int>(i)) ? 1 : 0;
  }
  group_->all_reduce_sum(sums);
  const bool somebody_knows = std::any_of(sums.end() - static_cast<std::ptrdiff_t>(links), sums.end(),
                                          [](double breaks) { return breaks > 0; });
  std::vector<char> unbroken(links, 0);
  for (std::size_t i = 0; i < links; ++i) {
    if (sums[i] == 0) continue;
    broken_[i] = 1;
    unbroken[i] = somebody_knows && sums[3 * links + i] == 0;
    conditions[i].direct_messages = static_cast<int>(sums[links + i]);
    conditions[i].delegated_messages = static_cast<int>(sums[2 * links + i]);
  }
  return unbroken;
}

// A stage that waits behind a link that went silent gets nothing over a sound one, and gives that up too when its deadline is
// over. Such a path is used again at once, if it carries a message.
void PipelineAdaptation::restore_unbroken(const std::vector<char>& unbroken,
                                          std::vector<LinkCondition>& conditions) {
  double any = static_cast<double>(std::count(unbroken.begin(), unbroken.end(), 1));
  replica_.control().all_reduce_max({&any, 1});
  if (any == 0) return;
  retry_direct(unbroken);
  for (std::size_t i = 0; i < unbroken.size(); ++i) {
    if (!unbroken[i] || broken_[i]) continue;
    links_.set_path(static_cast<int>(i), Path::direct, paths_[i].delegates);
    conditions[i] = {};  // no break
  }
}

// Whether a path that was built anew is used is the controller's decision.
void PipelineAdaptation::retry_direct(const std::vector<char>& links) {
  std::vector<double> unusable(broken_.size(), 0);
  const std::vector<char> usable = links_.rebuild_direct(links);
  for (std::size_t i = 0; i < unusable.size(); ++i) unusable[i] = usable[i] ? 0 : 1;
  group_->all_reduce_max(unusable);
  double still_broken = 0;
  for (std::size_t i = 0; i < unusable.size(); ++i) {
    if (links[i] && unusable[i] == 0) broken_[i] = 0;
    still_broken += broken_[i];
  }
  replica_.control().all_reduce_max({&still_broken, 1});
  world_has_broken_ = still_broken > 0;
}

std::vector<AdaptationEvent> PipelineAdaptation::take_events(bool last) {
  if (last) {
    const auto awaited = std::exchange(awaited_, {});
    events_.insert(events_.end(), awaited.begin(), awaited.end());
  }
  return std::exchange(events_, {});
}

std::vector<AdaptationEvent> PipelineAdaptation::own_last_events() {
  std::vector<AdaptationEvent> events = take_events(true);
  if (has_siblings())
    for (AdaptationEvent& event : events) event.data = replica_.coordinates().data;
  return events;
}

std::vector<AdaptationEvent> PipelineAdaptation::gather_events(bool last) {
  AdaptationDecision mine;
  mine.events = take_events(last);
  std::vector<AdaptationEvent> all;
  const std::vector<std::string> texts = replica_.control().all_gather(to_text(mine));
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    for (AdaptationEvent& event : decision_of_text(texts[rank]).events) {
      if (has_siblings()) event.data = replica_.grid().coordinates_of(static_cast<int>(rank)).data;
      all.push_back(event);
    }
  return all;
}

}  // namespace tenax::resilience
