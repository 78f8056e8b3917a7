// FlapDamper: holds a link on delegates that keeps leaving its direct path and coming back, as
// routers damp routes that flap (RFC 2439). Delegates serve a link slow or not.
#pragma once

#include <algorithm>

namespace tenax::resilience {

/// Pure; an iteration is the unit of time. The first departure is free: the link returns as soon as
/// it has no reason to be away. Each further departure doubles how long it must have had none. A
/// long time on the direct path takes one departure back.
class FlapDamper {
 public:
  struct Options {
    int first_hold = 8, longest_hold = 256;
    int forgiving =
        16;  ///< a departure is forgotten after so many times its hold on the direct path, 8 x 16 at least
  };

  FlapDamper() = default;
  explicit FlapDamper(Options options) : options_(options) {}

  /// After each iteration. `away`: the link has left its direct path, and has a reason for it.
  void add(bool away);
  /// The link is away without a reason, and must still stay.
  bool holds() const { return left_ && calm_ < hold(); }
  /// Iterations without a reason after which it may return.
  int hold() const { return hold_after(departures_); }
  /// hold() if it leaves now, or has just done so.
  int hold_of_departure() const;

 private:
  int hold_after(int departures) const;

  Options options_{};
  bool left_ = false;
  int departures_ = 0;  // that count still
  int calm_ = 0;        // iterations without a reason to be away, since it last had one or was last forgiven
};

}  // namespace tenax::resilience
