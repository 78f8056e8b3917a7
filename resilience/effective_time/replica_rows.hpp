// ReplicaRows: what each replica of a run was about, over time.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "resilience/membership/records.hpp"

namespace tenax::resilience {

enum class ReplicaPhase {
  starts,   ///< its processes run, and it is no member
  fetches,  ///< a member that came to a run under way, until it has the state
  trains
};

struct ReplicaRow {
  struct Stretch {
    double begin_s = 0, end_s = 0;
    ReplicaPhase phase = ReplicaPhase::starts;
  };
  int replica = 0;
  std::vector<Stretch> stretches = {};  ///< by time; in the gaps between them nothing of it runs
  std::vector<double> deaths = {}, joins = {};
};

/// Is told in the order of time. Seconds of one clock. One thread.
class ReplicaRows {
 public:
  void on_start(int replica, double time_s) { begin(replica, ReplicaPhase::starts, time_s); }
  void on_epoch(const EpochRecord& epoch);
  /// It has the state.
  void on_join(int replica, double time_s);
  void on_lost(int replica, double time_s);

  /// By replica. What has not ended ends at `end_s`.
  std::vector<ReplicaRow> rows(double end_s) const;

 private:
  struct Open {
    ReplicaRow row;
    bool is_there = false;  // the last stretch goes on
  };
  void begin(int replica, ReplicaPhase phase, double time_s);
  void end(int replica, double time_s);

  std::map<int, Open> replicas_;
  std::set<int> members_;
};

}  // namespace tenax::resilience
