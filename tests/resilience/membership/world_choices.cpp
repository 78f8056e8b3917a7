#include "tests/resilience/membership/world_choices.hpp"

#include <algorithm>

namespace tenax::resilience {
namespace {

using Kind = WorldAction::Kind;
using Action = MemberPlan::Action;

/// Where a world that goes on by itself prefers what comes first.
constexpr Kind kFairOrder[] = {Kind::to_service, Kind::to_member, Kind::exit,  Kind::connect,
                               Kind::fetch,      Kind::begin,     Kind::enter, Kind::abort,
                               Kind::complete,   Kind::restore,   Kind::save,  Kind::restart_service,
                               Kind::restart,    Kind::tick};

}  // namespace

bool WorldChoices::is_newest(const Process& process) const {
  return std::none_of(world_.processes.begin(), world_.processes.end(), [&](const Process& other) {
    return other.id.replica == process.id.replica && other.id.incarnation > process.id.incarnation;
  });
}

// The supervisor starts a replica again whose processes have ended, or which stand still and are not in the run.
bool WorldChoices::can_restart(const Process& process) const {
  if (!world_.service || world_.has_exited() || !is_newest(process) ||
      world_.given_up.contains(process.id.replica))
    return false;
  const MembershipState& state = world_.service->state();
  const bool is_out = !state.seats().of(process.id) && (process.is_lost || !state.is_member(process.id));
  return process.life == Life::dead ||
         (process.life == Life::stopped && is_out && process.to_service.empty());
}

// All have brought what they have. Whether a replica gets it all before another dies is a matter of luck.
bool WorldChoices::can_complete(const Process& process) const {
  const Exchange* exchange = world_.exchange_of(process);
  const auto& members = process.member.epoch()->members;
  return process.member.epoch()->number == process.epoch && exchange &&
         std::all_of(members.begin(), members.end(),
                     [&](const EpochMember& member) { return exchange->contains(member.id.replica); });
}

bool WorldChoices::can_save_between(const Process& process) const {
  const MemberProgress& progress = process.member.progress();
  return world_.options.saves_between && process.place == Place::free && progress.is_whole() &&
         !process.saved.contains(progress.done()) && process.member.epoch()->writer == process.id.replica &&
         process.member.plan().action == Action::train;
}

bool WorldChoices::can_be_given_up(const Process& process) const {
  return world_.options.leaves && process.life == Life::dead && is_newest(process) &&
         !world_.given_up.contains(process.id.replica) &&
         world_.options.replicas - static_cast<int>(world_.given_up.size()) > world_.options.min_replicas;
}

bool WorldChoices::peers_live(const Process& process) const {
  const auto& members = process.member.epoch()->members;
  return std::all_of(members.begin(), members.end(), [&](const EpochMember& member) {
    return std::any_of(world_.processes.begin(), world_.processes.end(), [&](const Process& other) {
      return other.id == member.id && other.life == Life::running;
    });
  });
}

std::vector<Kind> WorldChoices::actions_of(const Process& it) const {
  std::vector<Kind> found;
  const auto add = [&](bool can, Kind kind) {
    if (can) found.push_back(kind);
  };
  add(world_.service && (!it.to_service.empty() || it.closed_to_service), Kind::to_service);
  add(it.life == Life::stopped, Kind::wake);
  add(can_restart(it), Kind::restart);
  if (it.life != Life::running) return found;
  const MemberPlan plan = it.member.plan();
  const bool is_behind = it.place != Place::free && !it.member.progress().is_whole();
  const bool is_frozen = it.member.frozen_epoch() >= it.epoch;
  add(!it.to_member.empty() || it.closed_to_member, Kind::to_member);
  add(world_.service && plan.action != Action::exit && it.link == 0 && it.to_service.empty() &&
          !it.closed_to_service,
      Kind::connect);
  add(plan.action == Action::exit, Kind::exit);
  add(it.place == Place::free && plan.action == Action::train, Kind::begin);
  add(it.place == Place::free && plan.action == Action::restore, Kind::restore);
  add(it.place == Place::free && plan.action == Action::save, Kind::save);
  add(can_save_between(it), Kind::save_between);
  add(it.place == Place::passes, Kind::enter);
  add(is_behind && !is_frozen && world_.source_for(it), Kind::fetch);
  add(it.place == Place::exchange && is_frozen, Kind::abort);
  add(it.place == Place::exchange && can_complete(it), Kind::complete);
  return found;
}

bool WorldChoices::hears_at_once(const Process& it) const {
  if (it.to_member.empty()) return false;
  const ServiceMessage& message = it.to_member.front();
  return std::holds_alternative<CommitAck>(message) || std::holds_alternative<Restore>(message) ||
         std::holds_alternative<Ended>(message);
}

/// A commit that another replica's was before.
bool WorldChoices::is_heard_at_once(const Process& it) const {
  const auto* commit = it.to_service.empty() ? nullptr : std::get_if<Commit>(&it.to_service.front());
  return commit && commit->record.step < world_.service->state().steps().done();
}

// What has no effect on others yet, and can wait for nothing else, happens at once: all orders of it with other actions
// come to the same.
std::optional<WorldAction> WorldChoices::at_once() const {
  if (world_.options.all_orders) return {};
  for (std::size_t i = 0; i < world_.processes.size(); ++i) {
    const Process& it = world_.processes[i];
    if (world_.service && is_heard_at_once(it)) return WorldAction{Kind::to_service, i};
    if (it.life == Life::running && hears_at_once(it)) return WorldAction{Kind::to_member, i};
    for (const Kind kind : actions_of(it))
      if (kind == Kind::exit || kind == Kind::connect || kind == Kind::restart || kind == Kind::restore ||
          kind == Kind::save)
        return WorldAction{kind, i};
  }
  return {};
}

std::vector<WorldAction> WorldChoices::actions() const {
  if (const auto only = at_once()) return {*only};
  std::vector<WorldAction> found;
  for (std::size_t i = 0; i < world_.processes.size(); ++i)
    for (const Kind kind : actions_of(world_.processes[i])) found.push_back({kind, i});
  if (!world_.service) found.push_back({Kind::restart_service});
  const bool is_quiet =
      std::none_of(found.begin(), found.end(), [&](WorldAction it) { return is_certain(it); });
  if (is_quiet && world_.service && !world_.is_over()) found.push_back({Kind::tick});
  return found;
}

/// Whether it happens without fail, and before any deadline passes.
bool WorldChoices::is_certain(WorldAction action) const {
  if (action.kind == Kind::complete) return peers_live(world_.processes[action.process]);
  return action.kind != Kind::wake && action.kind != Kind::restart && action.kind != Kind::save_between;
}

std::vector<WorldAction> WorldChoices::faults() const {
  std::vector<WorldAction> found;
  if (at_once()) return found;
  for (std::size_t i = 0; i < world_.processes.size(); ++i) {
    const Process& it = world_.processes[i];
    const bool is_linked = it.link != 0 && !it.closed_to_member && !it.closed_to_service;
    if (it.life == Life::running || it.life == Life::stopped) found.push_back({Kind::crash, i});
    if (world_.service && can_be_given_up(it)) found.push_back({Kind::give_up, i});
    if (it.life != Life::running) continue;
    found.push_back({Kind::stop, i});
    if (world_.options.leaves && !it.wishes_leave) found.push_back({Kind::wish_leave, i});
    if (world_.service && is_linked) found.push_back({Kind::cut, i});
    if (world_.service && is_linked) found.push_back({Kind::silence, i});
    if (it.place == Place::exchange && it.member.frozen_epoch() < it.epoch)
      found.push_back({Kind::fail_exchange, i});
  }
  if (!world_.service) return found;
  found.push_back({Kind::crash_service});
  found.push_back({Kind::crash_service_host});
  if (!world_.stop_wished) found.push_back({Kind::wish_stop});
  return found;
}

// In the worst case nothing comes any more from a peer that has gone.
std::optional<WorldAction> WorldChoices::next() const {
  const std::vector<WorldAction> all = actions();
  for (const Kind kind : kFairOrder)
    for (const WorldAction& action : all)
      if (action.kind == kind && (is_certain(action) || kind == Kind::restart)) return action;
  return {};
}

}  // namespace tenax::resilience
