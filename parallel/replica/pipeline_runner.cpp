#include "parallel/replica/pipeline_runner.hpp"

#include <algorithm>
#include <utility>

#include "kernels/new_thread.hpp"
#include "parallel/schedule/timeline.hpp"

namespace tenax::parallel {
namespace {

std::vector<PipelineOp> forward_row(int microbatches) {
  std::vector<PipelineOp> row;
  for (int m = 0; m < microbatches; ++m) row.push_back({Pass::forward, m});
  return row;
}

double mean_pass_s(const PipelineCosts& costs) {
  double sum_s = 0;
  for (const StageCosts& stage : costs.stages)
    sum_s += stage.forward_s + stage.backward_input_s + stage.backward_weight_s;
  return sum_s / (3.0 * costs.stage_count());
}

}  // namespace

PipelineRunner::PipelineRunner(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context,
                               Allocate allocate, Announce announce)
    : layout_(layout),
      context_(context),
      stage_index_(grid.coordinates_of(context.world.rank()).pipeline),
      allocate_(std::move(allocate)),
      announce_(std::move(announce)),
      links_(layout, grid, context),
      costs_(layout.costs) {
  allocate_for(schedule_of(layout.most_microbatches));
  set_schedule(layout.schedule, layout.costs);
}

const PipelineSchedule& PipelineRunner::schedule_of(int microbatches) {
  const auto known = schedules_.find(microbatches);
  if (known != schedules_.end()) return known->second;
  const auto ahead = planned_.extract(microbatches);
  PipelineSchedule schedule = ahead ? ahead.mapped().get() : plan_schedule(layout_, microbatches);
  return schedules_.emplace(microbatches, std::move(schedule)).first->second;
}

// For what gets no thread schedule_of() plans when it is needed.
void PipelineRunner::plan_ahead(const std::vector<int>& microbatches) try {
  for (const int count : microbatches)
    if (!schedules_.contains(count) && !planned_.contains(count))
      planned_.emplace(count, kernels::new_async([this, count] { return plan_schedule(layout_, count); }));
} catch (const kernels::Error&) {
}

void PipelineRunner::set_schedule(const PipelineSchedule& schedule, const PipelineCosts& costs) {
  const int microbatches = schedule.microbatches();
  planned_.erase(microbatches);
  costs_ = costs;
  build_executors(schedules_.insert_or_assign(microbatches, schedule).first->second);
}

void PipelineRunner::set_costs(const PipelineCosts& costs) {
  costs_ = costs;
  ExecutorOptions options = training_options(schedule_of(microbatches_));
  training_->expect_inputs(options.patience_s, std::move(options.idle_before_s));
}

void PipelineRunner::set_microbatches(int microbatches) {
  if (microbatches != microbatches_) build_executors(schedule_of(microbatches));
}

void PipelineRunner::allocate_for(const PipelineSchedule& schedule) {
  const int peak = peak_slots(schedule, stage_index_);
  const auto& rooms = layout_.slot_room_of_stage;
  const int needed = rooms.empty() ? peak : rooms[static_cast<std::size_t>(stage_index_)].slots_for(peak);
  if (needed <= slots_) return;
  links_.release_memory();
  training_.reset();  // they use the stage that was
  evaluation_.reset();
  stage_ = &allocate_(needed);
  slots_ = needed;
}

ExecutorOptions PipelineRunner::executor_options() const {
  return {.slots = slots_, .deadline_s = context_.options.deadline_s, .is_warm = is_warm_};
}

ExecutorOptions PipelineRunner::training_options(const PipelineSchedule& schedule) const {
  /// A late input is waited for during this share of a pass before another op goes first.
  constexpr double kPatience = 0.1;
  ExecutorOptions options = executor_options();
  // Tensor ranks must run the same ops in the same order: their collectives pair up by it.
  if (!context_.options.follows_delays || layout_.grid.tensor > 1) return options;
  options.most_live = layout_.limit.microbatches(stage_index_);
  options.patience_s = kPatience * mean_pass_s(costs_);
  const Timeline timeline = simulate(schedule, costs_);
  options.idle_before_s = idle_before_s(timeline.ops_of_stage[static_cast<std::size_t>(stage_index_)]);
  return options;
}

void PipelineRunner::build_executors(const PipelineSchedule& schedule) {
  allocate_for(schedule);
  microbatches_ = schedule.microbatches();
  training_ = std::make_unique<ScheduleExecutor>(
      *stage_, context_.device, links_.neighbours(),
      schedule.ops_of_stage[static_cast<std::size_t>(stage_index_)], training_options(schedule));
  ExecutorOptions forwards = executor_options();
  forwards.slots = std::min(slots_, 2);  // two, so that a send overlaps the next pass
  evaluation_ = std::make_unique<ScheduleExecutor>(*stage_, context_.device, links_.neighbours(),
                                                   forward_row(schedule.microbatches()), forwards);
}

void PipelineRunner::train(const model::GradientsReady& ready, ScheduleObserver* observer) {
  if (announce_) announce_(training_->row());
  training_->run(ready);
  links_.finish_iteration();
  observer_ = observer;
  is_warm_ = true;
  has_run_ = true;
}

void PipelineRunner::report() {
  if (std::exchange(has_run_, false) && observer_) training_->report(*observer_);
}

void PipelineRunner::evaluate() {
  if (announce_) announce_(evaluation_->row());
  evaluation_->run();
  links_.finish_iteration();
}

// Between neighbours one pass runs and one is launched ahead; alone, or as one graph, all may be under way.
double PipelineRunner::patience_s() const {
  const std::size_t passes = layout_.grid.pipeline > 1 ? 2 : training_->row().size();
  return context_.options.deadline_s * static_cast<double>(1 + passes);
}

}  // namespace tenax::parallel
