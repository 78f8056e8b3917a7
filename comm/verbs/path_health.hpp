// PathHealth: which pair of ports the connections to one peer should go over, by what has been seen.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/retry_delay.hpp"
#include "comm/verbs/break_reason.hpp"

namespace tenax::comm::verbs {

/// A port at each end, by name.
struct Path {
  std::string here, there;
  auto operator<=>(const Path&) const = default;
};

enum class PathEnd { here, there };

/// Pure: events come in with the time, choices come out. `now_s` counts in seconds and never goes
/// back. The states of a port and of a path:
///
///   port   up --down, lost--> down --active, and its address there--> up, used after
///          0, 1, 2, 4 … 60 s; from 0 again once it had been up for 60 s
///
///   path   trusted --no answer--> suspect, tested after 1, 2, 4 … 60 s --test frame passes--> trusted;
///          from 1 again once it had been trusted for 60 s
///
/// A port is up, and a path trusted, until something is seen. After an own_fault all paths to this peer
/// rest, for as long as a suspect does: hardware says the same of a passing trouble in either host.
///
/// Thread rule: one thread at a time.
class PathHealth {
 public:
  /// The paths that there are, best first. What is known of their ports is kept.
  void set_paths(std::vector<Path> best_first) { paths_ = std::move(best_first); }

  /// The port at that end is not active, or gone with its device.
  void port_down(PathEnd end, const std::string& port, double now_s);
  /// The port has been asked anew: it is active and has its address.
  void port_up(PathEnd end, const std::string& port, double now_s);
  /// That end says that it is up, and is to be used from `until_s` on.
  void port_rests(PathEnd end, const std::string& port, double until_s, double now_s);
  /// A connection over `path` broke, or a test of the path failed.
  void broke(const Path& path, BreakReason reason, double now_s);
  /// A test frame has passed, each way.
  void passed(const Path& path, double now_s);

  /// The paths to try now, in this order: trusted ones, best first, then suspects whose time for a
  /// test has come. Empty: use something else, until next_change_s().
  std::vector<Path> candidates(double now_s) const;
  /// Those of candidates() that are better than `present`, a path that works. One of them is connected
  /// before `present` is given up.
  std::vector<Path> better_than(const Path& present, double now_s) const;
  /// Whether a connection over `present` is to be broken at once, though it has not failed: one of its
  /// ports is down, and another path could be used. Otherwise it lives as long as its queue pair.
  bool should_leave(const Path& present, double now_s) const;
  /// When candidates() next changes if nothing is seen until then.
  std::optional<double> next_change_s(double now_s) const;
  bool is_up(PathEnd end, const std::string& port) const;
  /// From when on a port at that end may be used, as it has then been up for as long as it has to wait; nothing while
  /// it is down.
  std::optional<double> usable_at_s(PathEnd end, const std::string& port) const;
  bool is_suspect(const Path& path) const;
  /// Suspects whose time for a test has not come.
  std::vector<Path> resting(double now_s) const;

 private:
  struct PortState {
    bool is_up = true;
    double since_s = 0;      ///< up
    double usable_at_s = 0;  ///< while it is up
    double wait_s = 0;       ///< once it comes up
    RetryDelay delay{0};
  };
  struct Suspicion {
    bool is_suspect = false;
    double since_s = 0;    ///< trusted
    double test_at_s = 0;  ///< while it is suspect
    RetryDelay delay;
  };

  PortState& state_of(PathEnd end, const std::string& port) {
    return ports_[static_cast<std::size_t>(end)][port];
  }
  /// Of both its ports.
  std::optional<double> usable_at_s(const Path& path) const;
  /// From when on the path may be used, or tested if it is suspect.
  std::optional<double> ready_at_s(const Path& path) const;
  bool is_ready(const Path& path, double now_s) const;
  void suspect(const Path& path, double now_s);
  void rest_after_own_fault(double now_s);

  std::vector<Path> paths_;
  std::array<std::map<std::string, PortState>, 2> ports_;  ///< by PathEnd; those of which something was seen
  std::map<Path, Suspicion> suspicions_;
  double own_fault_rests_until_s_ = 0;
  RetryDelay own_fault_delay_;
};

}  // namespace tenax::comm::verbs
