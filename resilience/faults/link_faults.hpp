// LinkFaults: the requested faults, bound to ranks, and which of them hold at the moment. The
// wrappers that FaultInjector makes act on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/deck/fault_trace.hpp"
#include "parallel/layout/process_grid.hpp"
#include "resilience/faults/fault_clock.hpp"

namespace tenax::resilience {

/// One fault on links between world ranks, in both directions.
struct LinkFault {
  std::vector<std::pair<int, int>> links;  ///< pairs of world ranks, in any order
  FaultWindow window;
  double delay_s = 0;                           ///< added to every message
  double gbps = 0;                              ///< what is left of the bandwidth; 0: all of it
  double per_packet_s = 0;                      ///< added per packet; a message has at least one
  std::uint64_t packet_bytes = 0;               ///< ≥ 1 where per_packet_s counts
  std::shared_ptr<const io::FaultTrace> trace;  ///< of delays; may be absent
  std::string down_path;                        ///< "direct" or an address; empty: a delay
  /// For down_path "direct": at each end the path goes down in the middle of window.from_step, as when
  /// a cable is pulled, once that end has sent and received so many messages in all, at least one of
  /// them received. Messages under way are lost. 0: it is down from the step's beginning, as the
  /// path of an address always is.
  std::int64_t passing = 0;

  bool joins(int a, int b) const;
  /// The delay of a message of `bytes` that is sent `run_s` after the first step began.
  double message_delay_s(std::uint64_t bytes, double run_s) const;
};

/// A fault as a deck asks for it, by `stages` or by `ranks`.
struct FaultRequest {
  FaultWindow window;
  std::vector<int> stages;                         ///< two neighbours
  std::vector<int> ranks;                          ///< two world ranks
  int data = -1;                                   ///< with stages: of which pipeline; -1 = all
  double delay_s = 0, gbps = 0, per_packet_s = 0;  ///< as LinkFault's
  std::uint64_t packet_bytes = 0;
  std::string trace = {};      ///< file of an io::FaultTrace; may be empty
  std::string down_path = {};  ///< LinkFault::down_path
};

/// Binds the requests to the ranks that `grid` gives their stages, each tensor rank to its like.
/// `microbatches`: of an iteration, in which a link carries two messages for each; half of them
/// pass before a direct path goes down. Reads traces: throws Error(rank).
std::vector<LinkFault> bind_faults(const std::vector<FaultRequest>& requests,
                                   const parallel::ProcessGrid& grid, int microbatches);

/// Whether a `down_path` means `address`, e.g. "10.0.0.5", "10.0.0.5:4000" or "tcp" means
/// "tcp:10.0.0.5:4000".
bool path_means(std::string_view path, std::string_view address);

/// Thread rule: one thread begins steps, any thread asks and counts.
class LinkFaults {
 public:
  using Clock = FaultClock::Clock;
  /// The way that a message goes between two ranks.
  struct Way {
    bool direct = false;            ///< the pipeline's direct path
    std::string_view address = {};  ///< the connection's; empty on the direct path
  };

  explicit LinkFaults(std::vector<LinkFault> faults) : faults_(std::move(faults)), passed_(faults_.size()) {}

  /// Before the first step nothing is wrong yet; traces count from the moment it begins.
  void begin_step(std::int64_t step);
  const FaultClock& clock() const { return clock_; }

  /// Whether a fault is ever on this link, and whether a delay is.
  bool concern(int rank, int peer) const;
  bool delay_some(int rank, int peer) const;

  /// How much later a message arrives that is sent at `sent`; the delays of several faults add up.
  Clock::duration delay(int rank, int peer, std::uint64_t bytes, Clock::time_point sent) const;
  bool is_down(int rank, int peer, Way way) const;
  enum class Passed { sent, received };
  /// A message passes on the direct path between `rank`, which is this one, and `peer`.
  void count_direct(int rank, int peer, Passed how);

 private:
  struct Count {
    std::atomic<std::int64_t> sent = 0, received = 0;
  };
  bool has_begun(std::size_t fault, std::int64_t step) const;

  const std::vector<LinkFault> faults_;
  std::vector<Count> passed_;  ///< per fault: direct messages of this step
  FaultClock clock_;
};

}  // namespace tenax::resilience
