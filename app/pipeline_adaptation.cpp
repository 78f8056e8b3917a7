#include "app/pipeline_adaptation.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace tenax::app {

using comm::Path;
using resilience::LinkPath;

namespace {

/// How long a boundary waits for a plan: most are found within it, the others are taken at the next boundary.
constexpr auto kPlanningPause = std::chrono::milliseconds(20);
/// Steps between two attempts at a direct path that broke.
// A path that stays dead is tried less and less often: a vain try holds all ranks up.
constexpr std::int64_t kRetrySteps = 10, kMostRetrySteps = 640;

resilience::AdaptationSettings settings_of(const io::Deck& deck) {
  resilience::AdaptationSettings settings;
  settings.paths = deck.pipeline.p2p == "direct"      ? resilience::PathChoice::direct_only
                   : deck.pipeline.p2p == "delegated" ? resilience::PathChoice::delegated_only
                                                      : resilience::PathChoice::automatic;
  settings.reschedule = deck.pipeline.schedule == "adaptive";
  // MPI takes what it is given; a link carries one message after the other in each direction.
  settings.direct.kind = parallel::TransferModel::Kind::shared_channel;
  settings.direct.paired = true;
  settings.seed = static_cast<std::uint64_t>(deck.run.seed);
  if (deck.device.kind != "emulated") return settings;
  settings.skipped_iterations = 0;
  settings.direct.paired = deck.pipeline.schedule == "1f1b";
  if (deck.device.direct_model == "send_queue") {
    settings.direct.kind = parallel::TransferModel::Kind::send_queue;
    settings.direct.queue_depth = static_cast<int>(deck.device.send_queue_depth);
  }
  settings.delegate_overhead_s = 2e-3 * deck.device.copy_ms;
  return settings;
}

}  // namespace

PipelineAdaptation::PipelineAdaptation(const Layout& layout, const parallel::ProcessGrid& grid,
                                       const PipelinePlace& place, PipelineLinks& links)
    : layout_(layout), links_(links) {
  const parallel::GridCoordinates me = grid.coordinates_of(place.world.rank());
  const parallel::GroupSplit part = grid.split(parallel::GroupKind::pipeline, place.world.rank());
  control_ = place.world.control_endpoint(part.color, part.key);
  const int place_in_pipeline = me.pipeline * layout.grid.tensor + me.tensor;
  group_ = comm::create_control_group(place.world.control_endpoint(me.data, place_in_pipeline),
                                      {place.deck.comm.deadline_s});
  resilience::MonitorOptions options;
  options.lane = me.tensor;
  options.deadline_s = place.deck.comm.deadline_s;
  monitor_ = std::make_unique<resilience::PipelineMonitor>(layout.microbatches, *control_, *group_, options);
  const auto link_count = static_cast<std::size_t>(layout.grid.pipeline - 1);
  paths_.assign(link_count, {place.deck.pipeline.p2p == "delegated", 1});
  broken_.assign(link_count, 0);
  if (leads())
    controller_ = std::make_unique<resilience::AdaptationController>(
        layout.microbatches, layout.limit, layout.schedule, settings_of(place.deck));
}

// A plan that nobody waits for any more is let run out: it takes a tenth of a second.
PipelineAdaptation::~PipelineAdaptation() = default;

// What was decided is remembered before it is carried out: if that fails, it is told all the same.
std::optional<parallel::PipelineSchedule> PipelineAdaptation::finish_step(
    std::int64_t step, const resilience::StageMeasurement& passes, bool path_failed,
    comm::ControlGroup& world) {
  const auto conditions = look_at_paths(step, path_failed, world);
  const resilience::PipelineMeasurement measurement = monitor_->finish_step(passes);
  std::string text;
  if (leads()) text = resilience::to_text(decide(step, measurement, conditions));
  const auto decision = resilience::decision_of_text(group_->broadcast(text, 0));
  if (leads()) {  // told once, with what they achieved
    events_.insert(events_.end(), decision.achieved.begin(), decision.achieved.end());
    std::erase_if(awaited_, [&](const auto& event) { return event.step < step; });
    awaited_.insert(awaited_.end(), decision.events.begin(), decision.events.end());
  }
  if (links_.adaptable()) apply_paths(decision.links);
  return decision.schedule;
}

// How the links were run in this iteration, and which direct paths can be used from now on.
std::vector<resilience::LinkCondition> PipelineAdaptation::look_at_paths(std::int64_t step, bool path_failed,
                                                                         comm::ControlGroup& world) {
  std::vector<resilience::LinkCondition> conditions;
  for (const LinkPath& path : paths_) conditions.push_back({.delegated = path.delegated});
  if (path_failed) {
    const std::vector<char> innocent = learn_failures(conditions);
    world_has_broken_ = true;
    retry_pause_ = kRetrySteps;
    next_retry_ = step + retry_pause_;
    restore_innocent(innocent, conditions, world);
  } else if (world_has_broken_ && step >= next_retry_) {
    retry_direct(broken_, world);
    retry_pause_ = std::min(2 * retry_pause_, kMostRetrySteps);
    next_retry_ = step + retry_pause_;
  }
  for (std::size_t i = 0; i < conditions.size(); ++i) conditions[i].direct_usable = broken_[i] == 0;
  return conditions;
}

resilience::AdaptationDecision PipelineAdaptation::decide(
    std::int64_t step, const resilience::PipelineMeasurement& measurement,
    const std::vector<resilience::LinkCondition>& conditions) {
  controller_->observe(step, measurement, conditions);
  if (controller_->wants_plan() && !planning_.valid()) look_for_plan();
  if (!planning_.valid() || planning_.wait_for(kPlanningPause) != std::future_status::ready)
    return controller_->decide();
  const parallel::Plan plan = planning_.get();
  return controller_->decide(&plan);
}

void PipelineAdaptation::look_for_plan() {
  planning_ = std::async(std::launch::async,
                         [request = controller_->request()] { return parallel::plan_adaptive(request); });
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
std::vector<char> PipelineAdaptation::learn_failures(std::vector<resilience::LinkCondition>& conditions) {
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
  std::vector<char> innocent(links, 0);
  for (std::size_t i = 0; i < links; ++i) {
    if (sums[i] == 0) continue;
    broken_[i] = 1;
    innocent[i] = somebody_knows && sums[3 * links + i] == 0;
    conditions[i].direct_messages = static_cast<int>(sums[links + i]);
    conditions[i].delegated_messages = static_cast<int>(sums[2 * links + i]);
  }
  return innocent;
}

// A stage that waits behind a link that went silent gets nothing over a sound one, and gives that up too when its deadline is
// over. Such a path is used again at once, if it carries a message.
void PipelineAdaptation::restore_innocent(const std::vector<char>& innocent,
                                          std::vector<resilience::LinkCondition>& conditions,
                                          comm::ControlGroup& world) {
  double any = static_cast<double>(std::count(innocent.begin(), innocent.end(), 1));
  world.all_reduce_max({&any, 1});
  if (any == 0) return;
  retry_direct(innocent, world);
  for (std::size_t i = 0; i < innocent.size(); ++i) {
    if (!innocent[i] || broken_[i]) continue;
    links_.set_path(static_cast<int>(i), Path::direct, paths_[i].delegates);
    conditions[i] = {};  // no break
  }
}

// Whether a path that was built anew is used is the controller's decision.
void PipelineAdaptation::retry_direct(const std::vector<char>& links, comm::ControlGroup& world) {
  std::vector<double> unusable(broken_.size(), 0);
  const std::vector<char> usable = links_.rebuild_direct(links);
  for (std::size_t i = 0; i < unusable.size(); ++i) unusable[i] = usable[i] ? 0 : 1;
  group_->all_reduce_max(unusable);
  double still_broken = 0;
  for (std::size_t i = 0; i < unusable.size(); ++i) {
    if (links[i] && unusable[i] == 0) broken_[i] = 0;
    still_broken += broken_[i];
  }
  world.all_reduce_max({&still_broken, 1});
  world_has_broken_ = still_broken > 0;
}

std::vector<resilience::AdaptationEvent> PipelineAdaptation::take_events(bool last) {
  if (last) {
    const auto awaited = std::exchange(awaited_, {});
    events_.insert(events_.end(), awaited.begin(), awaited.end());
  }
  return std::exchange(events_, {});
}

}  // namespace tenax::app
