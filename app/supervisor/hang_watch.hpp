// HangWatch: finds out from the recorders of a run's ranks that it stands still though hearts beat, and who is to blame.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "app/supervisor/recorder_reading.hpp"
#include "resilience/blame/culprits.hpp"
#include "resilience/membership/parts.hpp"
#include "resilience/recorder/rank_times.hpp"

namespace tenax::app {

/// Reads the memory of the ranks, without their help. On this host it looks whether they move. Where they are on others,
/// it reads only once commits stay away, as it takes a remote shell (RecorderReading). Used by one thread. Seconds are
/// those of the steady clock.
class HangWatch {
 public:
  struct Options {
    double hang_factor = 3;
    double dead_s = 1;       ///< a rank whose heart does not beat is lost after so long
    double join_wait_s = 1;  ///< members may wait so long for one that fetches its state
    int ranks = 1;           ///< of a replica
    bool is_near = true;     ///< all ranks are on this host
  };
  struct Hang {
    int replica = 0, rank = 0;  ///< most likely to blame
    resilience::HangDump dump;
    resilience::Blame blame;
  };
  explicit HangWatch(Options options) : options_(options) {}

  /// A new incarnation of the replica leaves its recorders in command.scratch, on its hosts.
  void follow(int replica, const ReplicaCommand& command);
  void forget(int replica) { followed_.erase(replica); }
  /// A step was committed; `parts`: who has contributed to it.
  void on_commit(const std::vector<resilience::Part>& parts, double now_s);
  /// The membership changes: ranks may stand meanwhile.
  void pause(double now_s);
  /// To be asked often. A hang is told once: its replica is forgotten.
  std::optional<Hang> look(double now_s);
  /// How the ranks on this host have spent their last `steps` steps.
  std::vector<resilience::RankTimes> times(int steps) const;

 private:
  struct Followed {
    ReplicaCommand command;
    std::map<int, resilience::RecorderMap> recorders;  // by rank; on this host
    std::int64_t steps = 0, step_begun_ns = 0;         // as last seen
    std::int64_t contributed = 0;                      // to so many commits
    std::deque<double> step_s;                         // of the last ones
    void add(double seconds);
  };
  void open_recorders(Followed& followed) const;
  static void learn(Followed& followed);
  /// How long a rank may stand; infinite while too little is known.
  double limit_s(const Followed& followed) const;
  bool stands(const Followed& followed, double now_s) const;
  bool some_stand(double now_s);
  std::vector<resilience::RecorderImage> images() const;
  std::vector<resilience::HangDump::Rank> unread(const std::vector<resilience::RecorderImage>& images) const;
  /// What the recorders hold; nothing until hosts have answered.
  std::optional<resilience::RecorderImages> read(double now_s);
  void begin_reading(double now_s);
  std::optional<Hang> judge(const resilience::RecorderImages& images) const;
  double limit_s(const Hang& hang, const resilience::RecorderImage& culprit) const;

  const Options options_;
  std::map<int, Followed> followed_;  // by replica
  std::optional<RecorderReading> reading_;
  double next_s_ = 0, quiet_until_s_ = 0, committed_s_ = 0;
};

}  // namespace tenax::app
