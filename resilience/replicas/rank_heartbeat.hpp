// RankHeartbeat: tells a replica's leader that this rank lives, and hears from it which exchanges
// must end. MPI cannot do that: its waits cannot be interrupted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "comm/messages/message_client.hpp"

namespace tenax::resilience {

/// The newest epoch whose exchanges must end at once, as must those of older ones. Every wait of an
/// exchange polls it. Thread rule: any thread.
class FrozenEpoch {
 public:
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  void raise(std::int64_t epoch);
  const std::atomic<std::int64_t>& word() const { return word_; }

 private:
  std::atomic<std::int64_t> word_{-1};
};

class LeaderHeartbeat;

/// Runs from construction to destruction. When the leader is gone, all epochs are frozen. One rank of a host beats for the
/// others, so that the leader hears one of each host alone; they take that one for the leader.
class RankHeartbeat {
 public:
  struct Options {
    comm::JobSecret secret;
    std::vector<std::string> leader;  ///< LeaderHeartbeat::addresses()
    int rank = 0;                     ///< in the replica
    double interval_s = 0.1;
    double deadline_s = 60;                 ///< to reach the leader
    LeaderHeartbeat* host_ranks = nullptr;  ///< the others of its host that beat to it; must outlive it
    double dead_s = 1;                      ///< it misses one of them after so long a silence
    /// Every interval_s once all epochs are frozen: the replica does not go on, and MPI may wait for ever.
    std::function<void()> when_hopeless = [] {};
  };
  /// Throws Error(link) when the leader cannot be reached. `frozen` must outlive it.
  RankHeartbeat(const Options& options, FrozenEpoch& frozen);
  ~RankHeartbeat();
  RankHeartbeat(const RankHeartbeat&) = delete;
  RankHeartbeat& operator=(const RankHeartbeat&) = delete;

 private:
  void run();
  void beat();
  void freeze(std::int64_t epoch);
  void tell_missed();

  double interval_s_, dead_s_;
  LeaderHeartbeat* host_ranks_;
  std::function<void()> when_hopeless_;
  FrozenEpoch& frozen_;
  comm::MessageClient client_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tenax::resilience
