// TakeOver: whether replicas of an earlier supervisor still tell the one that follows it what they have done.
#pragma once

#include <algorithm>
#include <set>

namespace tenax::app {

/// A process that is found may be that of dead ranks, or they may die before they have connected: what they have done since
/// their supervisor died, no record has then, though they may have left a checkpoint of it. Used by one thread. Seconds are those of
/// the steady clock.
class TakeOver {
 public:
  /// So long whoever has not told yet is waited for.
  static constexpr double kPatience_s = 60;

  /// It was taken for living at `now_s`. `runs`: it was still there.
  void add(int replica, bool runs, double now_s) {
    is_any_ = true;
    if (runs) unheard_.insert(replica);
    latest_s_ = std::max(latest_s_, now_s + kPatience_s);
  }
  /// What it has done, the records have from now on.
  void on_heard(int replica) { is_heard_ |= unheard_.contains(replica); }
  void on_end(int replica) { unheard_.erase(replica); }

  /// None has told yet, and one still may: a run that went on without them would lose what they have done.
  bool is_awaited(double now_s) const { return !is_heard_ && !unheard_.empty() && now_s < latest_s_; }
  /// None has told, and none will.
  bool is_in_vain() const { return is_any_ && !is_heard_ && unheard_.empty(); }

 private:
  std::set<int> unheard_;
  bool is_any_ = false, is_heard_ = false;
  double latest_s_ = 0;
};

}  // namespace tenax::app
