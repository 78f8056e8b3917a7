// Clock alignment: what a peer's steady clock shows when mine shows t, from an exchange like NTP's.
// Steady clocks of different hosts count from different moments and drift apart.
#pragma once

#include <functional>
#include <limits>

#include "comm/link.hpp"

namespace tenax::comm {

using kernels::steady_now_s;
/// Seconds of this process's steady clock; tests substitute clocks of their own.
using ClockSource = std::function<double()>;

struct ClockOffset {
  double offset_s = 0;                                       ///< the peer's clock minus this rank's
  double error_s = std::numeric_limits<double>::infinity();  ///< the truth is within ± this
  double measured_s = 0;                                     ///< when, this rank's clock
};

/// One end asks, the other answers.
enum class AlignmentRole { asks, answers };

struct AlignmentOptions {
  int rounds = 8;  ///< the one with the shortest round trip counts; the same at both ends
  Tag tag = kMaxTag - 1;
  double deadline_s = 60;
};

/// Both ends call it at the same time, with opposite roles; both get the same measurement, each
/// from its own side. The error is half the shortest round trip: where within it the answer was
/// given is unknown. Throws Error(link) when the peer is silent.
ClockOffset measure_clock_offset(Link& link, AlignmentRole role, const AlignmentOptions& options,
                                 const ClockSource& clock = steady_now_s);

/// The offset to one peer over time: keeps the measurement whose error bound, which grows with its
/// age, is smallest.
class ClockAlignment {
 public:
  /// Crystals differ by up to about this much, seconds per second.
  static constexpr double kDrift = 5e-5;

  void add(const ClockOffset& measured);
  bool known() const { return offset_.error_s < std::numeric_limits<double>::infinity(); }
  double offset_s() const { return offset_.offset_s; }
  /// A time of the peer's clock on this rank's.
  double to_mine_s(double peer_s) const { return peer_s - offset_.offset_s; }
  /// Bound on what to_mine_s is off by at `now_s` of this rank's clock; infinite before the first
  /// measurement.
  double error_s(double now_s) const;

 private:
  ClockOffset offset_;
};

}  // namespace tenax::comm
