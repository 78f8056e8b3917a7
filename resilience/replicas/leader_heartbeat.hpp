// LeaderHeartbeat: a replica's leader hears its ranks, and tells them which exchanges must end. On other hosts one rank does
// so for the leader (RankHeartbeat::Options::host_ranks).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/messages/message_server.hpp"
#include "resilience/replicas/heartbeat_words.hpp"
#include "resilience/replicas/rank_heartbeat.hpp"

namespace tenax::resilience {

/// Runs from construction to destruction. Thread rule: any thread.
class LeaderHeartbeat : private comm::MessageHandler {
 public:
  /// The leader itself is rank 0 of `ranks`. `frozen`: this rank's own, which must outlive it.
  LeaderHeartbeat(comm::MessageServerOptions options, int ranks, FrozenEpoch& frozen);

  std::vector<std::string> addresses() const { return server_.addresses(); }
  /// All ranks have reported at least once.
  bool is_complete() const;
  /// The lowest rank that has been silent for `silence_s`, or whose connection has closed, once it
  /// was there, or that is missed by the one that beats for it. To be asked many times in that time: a longer pause is taken for one of this
  /// process, in which it could hear nobody.
  std::optional<LostRank> silent_rank(double silence_s);
  void freeze(std::int64_t epoch);

 private:
  struct Rank {
    comm::MessagePeerId peer = 0;
    double heard_s = 0;  // steady clock
    bool is_gone = false;
    bool is_missed = false;  // by the rank that beats for it
  };
  void on_open(comm::MessagePeerId peer, const std::string& purpose) override;
  void on_message(comm::MessagePeerId peer, const std::string& text) override;
  void on_close(comm::MessagePeerId peer, const std::string& reason) override;

  const int ranks_;
  FrozenEpoch& frozen_;
  mutable std::mutex mutex_;  // of what follows
  double asked_s_ = 0;
  std::map<int, Rank> rank_of_number_;
  std::map<comm::MessagePeerId, int> number_of_peer_;
  comm::MessageServer server_;  // last: its thread uses all the rest
};

}  // namespace tenax::resilience
