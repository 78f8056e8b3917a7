// FlapDamper: how long a link that keeps leaving its direct path and coming back is held on the delegates, which serve it in
// either state (as routers damp routes that flap: RFC 2439).
#pragma once

#include <algorithm>

namespace tenax::resilience {

/// Pure; no clock: an iteration is the unit of time. The first departure is free: the link returns as soon as it may. Each
/// further one doubles how long it must then have had no reason to be away; a long time on the direct path takes one back.
class FlapDamper {
 public:
  struct Options {
    int first_hold = 8, longest_hold = 256;
    int forgiving =
        16;  ///< a departure is forgotten after so many times its hold on the direct path, 8 x 16 at least
  };

  FlapDamper() = default;
  explicit FlapDamper(Options options) : options_(options) {}

  /// An iteration was looked at. `away`: the link has left its direct path and a reason to be away.
  void add(bool away);
  /// It is away without a reason, and not yet for long enough.
  bool holds() const { return left_ && calm_ < hold(); }
  /// Iterations without a reason after which it may return.
  int hold() const { return hold_after(departures_); }
  /// hold() if it leaves now, or has just done so.
  int hold_of_departure() const { return hold_after(left_ ? departures_ : departures_ + 1); }

 private:
  int hold_after(int departures) const;

  Options options_{};
  bool left_ = false;
  int departures_ = 0;  // that count still
  int calm_ = 0;        // iterations without a reason to be away, since it last had one or was last forgiven
};

}  // namespace tenax::resilience
