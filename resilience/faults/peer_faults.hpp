// PeerFaults: what is wrong, at the moment, with the links of a rank to other replicas and to the
// membership service.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "resilience/faults/fault_occasion.hpp"
#include "resilience/faults/link_faults.hpp"

namespace tenax::resilience {

/// From the begin of a step on, the link to `peer` is dark for some time: nothing arrives, nothing is refused.
struct Partition {
  FaultOccasion occasion;
  int peer = 0;  ///< a replica, or PeerFaults::kService
  double seconds = 0;
};

/// Thread rule: one thread begins steps, any thread asks.
class PeerFaults {
 public:
  static constexpr int kService = -1;
  using Clock = LinkFaults::Clock;

  /// `replica`: this one. `delays`: between replicas, by their numbers.
  PeerFaults(int replica, const std::vector<Partition>& partitions, std::vector<LinkFault> delays);

  void begin_step(std::int64_t step);
  /// FaultClock's.
  double run_s() const { return delays_.clock().run_s(); }

  /// Whether a fault is ever on this link.
  bool concern(int peer) const;
  bool is_dark(int peer) const { return Clock::now() < light_at(peer); }
  /// When the link is dark no longer.
  Clock::time_point light_at(int peer) const;
  /// Sleeps until then. False: the deadline came first.
  bool waits_for_light(int peer, kernels::Deadline deadline) const;
  /// How much later a message of `bytes` arrives that is sent now.
  Clock::duration delay(int peer, std::uint64_t bytes) const;

 private:
  struct Darkness {
    explicit Darkness(const Partition& from) : partition(from) {}
    const Partition partition;
    std::atomic<Clock::rep> until = 0;
  };
  const int replica_;
  std::deque<Darkness> darknesses_;  // by partition
  LinkFaults delays_;
};

}  // namespace tenax::resilience
