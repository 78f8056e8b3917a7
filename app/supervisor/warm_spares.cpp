#include "app/supervisor/warm_spares.hpp"

#include <algorithm>

#include "app/units.hpp"

namespace tenax::app {

void WarmSpares::watch(double now_s, bool may_start, const JoinFile& join) {
  for (SupervisedReplica& spare : spares_) watch(spare, now_s, may_start, join);
}

// It looks at its cores before it is a replica.
JoinFile WarmSpares::join_at(const std::vector<HostSlots>& place, JoinFile join) const {
  join.replicas_on_host = 1 + hosts_.most_replicas(place);
  return join;
}

void WarmSpares::watch(SupervisedReplica& spare, double now_s, bool may_start, const JoinFile& join) {
  if (spare.is_overdue(now_s)) spare.kill();
  if (const auto end = spare.poll_end()) bury(spare, end->reason, now_s);
  const bool is_due = !started_.contains(spare.number()) || spare.is_due(now_s);
  if (!may_start || spare.is_running() || !is_due) return;
  const auto* const place = hosts_.place_spare(spare.number());
  if (!place) return;
  spare.move_to(*place);
  spare.start(spare.command().method == LaunchMethod::srun ? join : join_at(*place, join));
  started_.insert(spare.number());
}

void WarmSpares::bury(SupervisedReplica& spare, const std::string& reason, double now_s) {
  ready_.erase(spare.number());
  hosts_.remove_spare(spare.number());
  spare.plan_restart(now_s);
  console_.warn(format("warm spare %d %s: %s", spare.number(),
                       spare.is_given_up() ? "is given up" : "has ended, and starts again", reason.c_str()));
}

void WarmSpares::on_seen(int spare, bool is_ready) {
  if (spare < 0 || static_cast<std::size_t>(spare) >= spares_.size()) return;
  if (is_ready) {
    ready_.insert(spare);
    at(spare).on_commit();
  } else if (ready_.erase(spare) > 0) {
    at(spare).kill();
  }
}

void WarmSpares::on_called(int spare, double now_s) {
  ready_.erase(spare);
  at(spare).plan_restart(now_s);
}

void WarmSpares::kill() {
  for (SupervisedReplica& spare : spares_) spare.kill();
}

bool WarmSpares::are_over() {
  return std::count_if(spares_.begin(), spares_.end(), [](auto& spare) { return !spare.is_over(); }) == 0;
}

void WarmSpares::remove_joins() const {
  for (const SupervisedReplica& spare : spares_) spare.remove_join();
}

}  // namespace tenax::app
