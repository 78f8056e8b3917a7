#include "app/replica.hpp"

#include <array>
#include <cmath>

#include "app/pipeline_runner.hpp"

namespace tenax::app {
namespace {

// A message that never comes is waited for, then the two ends agree on another path, then it is sent again.
constexpr double kDeadlinesOfFailover = 3;

double group_deadline_s(const io::Deck& deck, const Layout& layout) {
  return deck.comm.deadline_s * (layout.fails_over ? kDeadlinesOfFailover : 1);
}

// What `create` makes of the world waits for `deadline_s`.
template <class Create>
auto with_deadline(comm::World& world, double deadline_s, double usual_s, Create create) {
  world.set_options({deadline_s});
  auto group = create();
  world.set_options({usual_s});
  return group;
}

}  // namespace

Replica::Replica(const io::Deck& deck, const Layout& layout, comm::World& world, kernels::Device& device)
    : layout_(layout),
      deadline_s_(deck.comm.deadline_s),
      group_deadline_s_(group_deadline_s(deck, layout)),
      control_(with_deadline(world, group_deadline_s_, deadline_s_, [&] { return world.control_group(); })),
      grid_(layout.grid),
      coordinates_(grid_.coordinates_of(world.rank())),
      update_phase_(device, "optimizer"),
      device_(device) {}

std::unique_ptr<comm::Communicator> Replica::split(comm::World& world, parallel::GroupKind kind) {
  const parallel::GroupSplit part = grid_.split(kind, world.rank());
  return timed(with_deadline(world, group_deadline_s_, deadline_s_, [&] {
    return world.split_communicator(parallel::name_of(kind), part.color, part.key, device_);
  }));
}

// In a group of one there is nothing to time.
std::unique_ptr<comm::Communicator> Replica::timed(std::unique_ptr<comm::Communicator> group) {
  if (group->size() == 1) return group;
  auto timed = std::make_unique<comm::TimedCommunicator>(std::move(group), device_);
  timed_.push_back(timed.get());
  return timed;
}

void Replica::report(parallel::StepObserver* observer, bool all) {
  if (all) stream().synchronize(kernels::Deadline::after_s(deadline_s_));
  for (comm::TimedCommunicator* group : timed_) group->report(observer);
  update_phase_.report(observer);
}

const resilience::StageMeasurement& Replica::pass_times() { return pipeline().pass_times(); }

const std::vector<parallel::PipelineOp>& Replica::planned_row() { return pipeline().planned_row(); }

double Replica::global_tokens() const {
  return static_cast<double>(layout_.microbatch.rows() * layout_.microbatches * layout_.grid.data);
}

Vote Replica::vote(const Wishes& wishes) {
  const Sums mine = local_sums();
  const auto count = [](bool yes) { return yes ? 1.0 : 0.0; };
  std::array<double, 9> sums = {mine.loss,
                                mine.squares,
                                count(wishes.signal),
                                count(wishes.time_limit),
                                count(wishes.failure),
                                count(pipeline().path_failed()),
                                count(pipeline().has_events()),
                                count(pipeline().is_void()),
                                count(wishes.checkpoint)};
  control_->all_reduce_sum(sums);
  Vote vote;
  vote.loss = sums[0] / global_tokens();
  vote.squares = sums[1];
  vote.grad_norm = std::sqrt(sums[1]) / global_tokens();
  vote.finite = !layout_.has_data || (std::isfinite(vote.loss) && std::isfinite(vote.grad_norm));
  vote.wishes = {sums[2] > 0, sums[3] > 0, sums[4] > 0, sums[8] > 0};
  vote.path_failed = sums[5] > 0;
  vote.has_events = sums[6] > 0;
  vote.is_void = sums[7] > 0;
  if (!vote.is_void) pipeline().report();  // the losses were waited for: no other wait for the device
  return vote;
}

std::vector<resilience::AdaptationEvent> Replica::adapt(std::int64_t step, const Vote& vote) {
  std::vector<resilience::AdaptationEvent> events;
  if (vote.has_events) events = gather_adaptations(false);
  pipeline().adapt(step, vote.path_failed, *control_);
  if (layout_.grid.data > 1) return events;
  for (auto& event : pipeline().take_events(false)) events.push_back(event);
  return events;
}

std::vector<resilience::AdaptationEvent> Replica::last_adaptations() { return gather_adaptations(true); }

std::vector<resilience::AdaptationEvent> Replica::own_last_adaptations() {
  std::vector<resilience::AdaptationEvent> events = pipeline().take_events(true);
  if (layout_.grid.data > 1)
    for (auto& event : events) event.data = coordinates_.data;
  return events;
}

std::vector<resilience::AdaptationEvent> Replica::gather_adaptations(bool last) {
  resilience::AdaptationDecision mine;
  mine.events = pipeline().take_events(last);
  std::vector<resilience::AdaptationEvent> all;
  const std::vector<std::string> texts = control_->all_gather(resilience::to_text(mine));
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    for (auto event : resilience::decision_of_text(texts[rank]).events) {
      if (layout_.grid.data > 1) event.data = grid_.coordinates_of(static_cast<int>(rank)).data;
      all.push_back(event);
    }
  return all;
}

}  // namespace tenax::app
