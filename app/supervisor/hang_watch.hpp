// HangWatch: finds out from the recorders of a run's ranks that it stands still though hearts beat, and who is to blame.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "resilience/blame/culprits.hpp"
#include "resilience/recorder/recorder_image.hpp"

namespace tenax::app {

/// Reads the memory of this host's ranks, without their help. Used by one thread. Seconds are those of the steady clock.
class HangWatch {
 public:
  struct Options {
    double hang_factor = 3;
    double dead_s = 1;       ///< a rank whose heart does not beat is lost after so long
    double join_wait_s = 1;  ///< members may wait so long for one that fetches its state
    int ranks = 1;           ///< of a replica
    bool is_near = true;     ///< all ranks are on this host; else nothing is found
  };
  struct Hang {
    int replica = 0, rank = 0;  ///< most likely to blame
    resilience::HangDump dump;
    resilience::Blame blame;
  };
  explicit HangWatch(Options options) : options_(options) {}

  /// A new incarnation of the replica leaves its recorders there.
  void follow(int replica, const std::filesystem::path& scratch);
  void forget(int replica) { followed_.erase(replica); }
  /// The membership changes: ranks may stand meanwhile.
  void pause(double now_s);
  /// To be asked often. A hang is told once: its replica is forgotten.
  std::optional<Hang> look(double now_s);

 private:
  struct Followed {
    std::filesystem::path scratch;
    std::map<int, resilience::RecorderMap> recorders;  // by rank
    std::int64_t steps = 0, step_begun_ns = 0;         // as last seen
    std::deque<double> step_s;                         // of the last ones
  };
  void open_recorders(Followed& followed) const;
  static void learn(Followed& followed);
  /// How long a rank may stand; infinite while too little is known.
  double limit_s(const Followed& followed) const;
  bool stands(const Followed& followed, double now_s) const;
  std::vector<resilience::RecorderImage> images() const;
  std::vector<resilience::HangDump::Rank> unread() const;
  std::optional<Hang> judge();

  const Options options_;
  std::map<int, Followed> followed_;  // by replica
  double next_s_ = 0, quiet_until_s_ = 0;
};

}  // namespace tenax::app
