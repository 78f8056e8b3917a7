#include "parallel/replica/replica.hpp"

namespace tenax::parallel {
namespace {

// A message that never comes is waited for, then the two ends agree on another path, then it is sent again.
constexpr double kDeadlinesOfFailover = 3;

/// A group's ranks wait for an id and then for each other to connect; those of other groups, who have their ring, wait for both.
constexpr double kDeadlinesOfRings = 3;

// What `create` makes of the world waits for `deadline_s`.
template <class Create>
auto with_deadline(comm::World& world, double deadline_s, double usual_s, Create create) {
  world.set_options({deadline_s});
  auto group = create();
  world.set_options({usual_s});
  return group;
}

}  // namespace

Replica::Replica(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context)
    : layout_(layout),
      deadline_s_(context.options.deadline_s),
      group_deadline_s_(group_deadline_s(deadline_s_, layout.fails_over)),
      control_(with_deadline(context.world, group_deadline_s_, deadline_s_,
                             [&] { return context.world.control_group(); })),
      grid_(grid),
      coordinates_(grid_.coordinates_of(context.world.rank())),
      update_phase_(context.device, "optimizer"),
      world_(context.world),
      device_(context.device) {}

double Replica::group_deadline_s(double deadline_s, bool fails_over) {
  return deadline_s * (fails_over ? kDeadlinesOfFailover : 1);
}

std::unique_ptr<comm::Communicator> Replica::split(comm::World& world, GroupKind kind) {
  const GroupSplit part = grid_.split(kind, world.rank());
  return timed(with_deadline(world, group_deadline_s_, deadline_s_, [&] {
    return world.split_communicator(name_of(kind), part.color, part.key, device_);
  }));
}

// In a group of one there is nothing to time.
std::unique_ptr<comm::Communicator> Replica::timed(std::unique_ptr<comm::Communicator> group) {
  if (group->size() == 1) return group;
  auto timed = std::make_unique<comm::TimedCommunicator>(std::move(group), device_);
  timed_.push_back(timed.get());
  return timed;
}

bool Replica::order_rings(const std::vector<std::vector<int>>& orders) {
  comm::Communicator* const data = group(GroupKind::data);
  if (!data || data->ring_order().empty()) return false;
  stream().synchronize(kernels::Deadline::after_s(group_deadline_s_));
  control_->all_gather({});  // from here on nobody is in a collective
  const auto color =
      static_cast<std::size_t>(grid_.split(GroupKind::data, grid_.rank_of(coordinates_)).color);
  if (!rings_decision_)
    rings_decision_ = with_deadline(world_, kDeadlinesOfRings * group_deadline_s_, deadline_s_,
                                    [&] { return world_.control_group(); });
  std::unique_ptr<comm::RingChange> change;
  rings_decision_->agree([&] {
    if (!orders.at(color).empty()) change = data->prepare_ring(orders[color]);
  });
  if (change) change->adopt();
  return true;
}

void Replica::report(StepObserver* observer, bool all) {
  if (all) stream().synchronize(kernels::Deadline::after_s(deadline_s_));
  for (comm::TimedCommunicator* group : timed_) group->report(observer);
  update_phase_.report(observer);
}

}  // namespace tenax::parallel
