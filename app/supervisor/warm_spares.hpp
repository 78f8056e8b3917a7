// WarmSpares: the spares of a run that hold a replica fully started, and idle until one dies.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/launch/host_pool.hpp"
#include "app/supervisor/supervised_replica.hpp"

namespace tenax::app {

/// One that is called, or ends, is replaced where there is a place for it, after what the restart policy says. Used
/// by one thread. Seconds are those of the steady clock.
class WarmSpares {
 public:
  /// None of `spares` runs. Both references must outlive it.
  WarmSpares(std::vector<SupervisedReplica> spares, HostPool& hosts, Console& console)
      : spares_(std::move(spares)), hosts_(hosts), console_(console) {}

  /// Some moments' work; `may_start`: those that are due start, with `join`.
  void watch(double now_s, bool may_start, const JoinFile& join);
  /// The service sees that it can be called, or cannot any more.
  void on_seen(int spare, bool is_ready);
  /// Those that can be called.
  const std::set<int>& ready() const { return ready_; }
  SupervisedReplica& at(int spare) { return spares_.at(static_cast<std::size_t>(spare)); }
  /// What it had started is a replica's now.
  void on_called(int spare, double now_s);
  /// Of all of them, as SupervisedReplica has it.
  void kill();
  bool are_over();
  void remove_joins() const;

 private:
  JoinFile join_at(const std::vector<HostSlots>& place, JoinFile join) const;
  void watch(SupervisedReplica& spare, double now_s, bool may_start, const JoinFile& join);
  void bury(SupervisedReplica& spare, const std::string& reason, double now_s);

  std::vector<SupervisedReplica> spares_;
  HostPool& hosts_;
  Console& console_;
  std::set<int> started_, ready_;
};

}  // namespace tenax::app
