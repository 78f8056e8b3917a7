#include "app/pipeline_runner.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

namespace tenax::app {

namespace {

std::vector<parallel::PipelineOp> forward_row(int microbatches) {
  std::vector<parallel::PipelineOp> row;
  for (int m = 0; m < microbatches; ++m) row.push_back({parallel::Pass::forward, m});
  return row;
}

/// A late input is waited for during this share of a pass before another op goes first.
constexpr double kPatience = 0.1;

double mean_pass_s(const parallel::PipelineCosts& costs) {
  double sum_s = 0;
  for (const parallel::StageCosts& stage : costs.stages)
    sum_s += stage.forward_s + stage.backward_input_s + stage.backward_weight_s;
  return sum_s / (3.0 * costs.stage_count());
}

/// Tells each of several; null ones are passed over.
class AllObservers : public parallel::ScheduleObserver {
 public:
  AllObservers(std::initializer_list<parallel::ScheduleObserver*> observers) : observers_(observers) {
    std::erase(observers_, nullptr);
  }
  void on_pass(const parallel::PassRecord& record) override {
    for (parallel::ScheduleObserver* observer : observers_) observer->on_pass(record);
  }
  void on_transfer(const parallel::TransferRecord& record) override {
    for (parallel::ScheduleObserver* observer : observers_) observer->on_transfer(record);
  }

 private:
  std::vector<parallel::ScheduleObserver*> observers_;
};

}  // namespace

PipelineRunner::PipelineRunner(const Layout& layout, const parallel::ProcessGrid& grid,
                               const PipelinePlace& place, Allocate allocate, Announce announce)
    : layout_(layout),
      place_(place),
      stage_index_(grid.coordinates_of(place.world.rank()).pipeline),
      allocate_(std::move(allocate)),
      announce_(std::move(announce)),
      links_(layout, grid, place) {
  if (layout.grid.pipeline > 1 && (place.deck.pipeline.schedule == "adaptive" || links_.adaptable()))
    adaptation_ = std::make_unique<PipelineAdaptation>(layout, grid, place, links_);
  set_schedule(layout.schedule);
}

void PipelineRunner::set_schedule(const parallel::PipelineSchedule& schedule) {
  const int peak = parallel::peak_slots(schedule, stage_index_);
  const auto& rooms = layout_.slot_room_of_stage;
  const int needed = rooms.empty() ? peak : rooms[static_cast<std::size_t>(stage_index_)].slots_for(peak);
  if (needed > slots_) {
    links_.release_memory();
    training_.reset();  // they use the stage that was
    evaluation_.reset();
    stage_ = &allocate_(needed);
    slots_ = needed;
  }
  const double deadline_s = place_.deck.comm.deadline_s;
  // Tensor ranks must run the same ops in the same order: their collectives pair up by it.
  const bool bends = place_.deck.pipeline.schedule == "adaptive" && layout_.grid.tensor == 1;
  const double patience_s =
      bends ? kPatience * mean_pass_s(layout_.costs) : std::numeric_limits<double>::infinity();
  training_ = std::make_unique<parallel::ScheduleExecutor>(
      *stage_, place_.device, links_.neighbours(),
      schedule.ops_of_stage[static_cast<std::size_t>(stage_index_)],
      parallel::ExecutorOptions{
          .slots = slots_, .deadline_s = deadline_s, .patience_s = patience_s, .is_warm = is_warm_});
  // Two slots, so that a send overlaps the next pass.
  evaluation_ = std::make_unique<parallel::ScheduleExecutor>(
      *stage_, place_.device, links_.neighbours(), forward_row(layout_.microbatches),
      parallel::ExecutorOptions{.slots = std::min(slots_, 2), .deadline_s = deadline_s, .is_warm = is_warm_});
}

void PipelineRunner::train(const model::GradientsReady& ready, parallel::ScheduleObserver* observer) {
  if (announce_) announce_(training_->row());
  training_->run(ready);
  links_.finish_iteration();
  observer_ = observer;
  is_warm_ = true;
  has_run_ = true;
}

void PipelineRunner::report() {
  if (!std::exchange(has_run_, false) || (!observer_ && !adaptation_)) return;
  AllObservers observers{&passes_, observer_, adaptation_ ? &adaptation_->monitor() : nullptr};
  training_->report(observers);
  pass_times_ = passes_.take();
}

void PipelineRunner::evaluate() {
  if (announce_) announce_(evaluation_->row());
  evaluation_->run();
  links_.finish_iteration();
}

void PipelineRunner::adapt(std::int64_t step, bool path_failed, comm::ControlGroup& world) {
  if (!adaptation_) return;
  if (const auto schedule = adaptation_->finish_step(step, pass_times_, path_failed, world))
    set_schedule(*schedule);
}

// Between neighbours one pass runs and one is launched ahead; alone, or as one graph, all may be under way.
double PipelineRunner::patience_s() const {
  const std::size_t passes = layout_.grid.pipeline > 1 ? 2 : training_->row().size();
  return place_.deck.comm.deadline_s * static_cast<double>(1 + passes);
}

std::vector<resilience::AdaptationEvent> PipelineRunner::take_events(bool last) {
  return adaptation_ ? adaptation_->take_events(last) : std::vector<resilience::AdaptationEvent>{};
}

}  // namespace tenax::app
