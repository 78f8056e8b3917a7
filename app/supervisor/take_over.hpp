// TakeOver: whether replicas of an earlier supervisor still tell the one that follows it what they have done.
#pragma once

#include <set>
#include <utility>

namespace tenax::app {

/// A process that is found may be that of dead ranks, or they may die before they have connected: what they have done since
/// their supervisor died, no record has then, though they may have left a checkpoint of it. Of replicas whose processes all end with
/// those of this host. Used by one thread. Seconds are those of the steady clock.
class TakeOver {
 public:
  /// So long whoever has not told yet is waited for.
  static constexpr double kPatience_s = 60;

  /// Begins to wait at `now_s`. `holders`: the replicas that are there and in the ledger's last epoch, who may hold the run's state;
  /// one at the least.
  void begin(std::set<int> holders, double now_s) {
    unheard_ = std::move(holders);
    is_open_ = true;
    latest_s_ = now_s + kPatience_s;
  }
  /// It has told what it has done, and goes on: nobody else need.
  void on_heard(int replica) {
    if (unheard_.contains(replica)) is_open_ = false;
  }
  void on_end(int replica) { unheard_.erase(replica); }
  /// Whoever has not told by then is not waited for.
  void on_time(double now_s) { is_open_ = is_open_ && (unheard_.empty() || now_s < latest_s_); }

  /// None has told yet, and one still may: a run that went on without them would lose what they have done.
  bool is_awaited() const { return is_open_ && !unheard_.empty(); }
  /// None has told, and none will.
  bool is_in_vain() const { return is_open_ && unheard_.empty(); }

 private:
  std::set<int> unheard_;
  bool is_open_ = false;
  double latest_s_ = 0;
};

}  // namespace tenax::app
