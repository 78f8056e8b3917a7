#include "resilience/replicas/leader_heartbeat.hpp"

#include <algorithm>
#include <utility>

#include "kernels/deadline.hpp"

namespace tenax::resilience {

using kernels::steady_now_s;

LeaderHeartbeat::LeaderHeartbeat(comm::MessageServerOptions options, int ranks, FrozenEpoch& frozen)
    : ranks_(ranks), frozen_(frozen), server_(std::move(options), *this) {}

bool LeaderHeartbeat::is_complete() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(rank_of_number_.size()) == ranks_ - 1;
}

std::optional<LostRank> LeaderHeartbeat::silent_rank(double silence_s) {
  const std::lock_guard lock(mutex_);
  const double now_s = steady_now_s(), pause_s = now_s - std::exchange(asked_s_, now_s);
  if (pause_s > silence_s / 2)
    for (auto& [number, rank] : rank_of_number_) rank.heard_s = std::min(rank.heard_s + pause_s, now_s);
  for (const auto& [number, rank] : rank_of_number_)
    if (rank.is_gone || rank.is_missed || now_s - rank.heard_s > silence_s)
      return LostRank{.rank = number, .silent_s = now_s - rank.heard_s, .is_gone = rank.is_gone};
  return {};
}

void LeaderHeartbeat::freeze(std::int64_t epoch) {
  frozen_.raise(epoch);
  const std::lock_guard lock(mutex_);
  for (const auto& [number, rank] : rank_of_number_)
    if (!rank.is_gone && !rank.is_missed) server_.send(rank.peer, freeze_word(epoch));
}

// A rank that comes late learns what it has missed.
void LeaderHeartbeat::on_open(comm::MessagePeerId peer, const std::string& purpose) {
  const auto number = number_after(kHeartbeatPurpose, purpose);
  if (!number || *number < 1 || *number >= ranks_) return server_.close(peer);
  {
    const std::lock_guard lock(mutex_);
    rank_of_number_[static_cast<int>(*number)] = {.peer = peer, .heard_s = steady_now_s()};
    number_of_peer_[peer] = static_cast<int>(*number);
  }
  server_.send(peer, freeze_word(frozen_.word()));
}

void LeaderHeartbeat::on_message(comm::MessagePeerId peer, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto number = number_of_peer_.find(peer);
  if (number == number_of_peer_.end()) return;
  const double now_s = steady_now_s();
  rank_of_number_[number->second].heard_s = now_s;
  if (const auto lost = lost_rank_of(text); lost && lost->rank > 0 && lost->rank < ranks_)
    rank_of_number_[lost->rank] = {
        .peer = peer, .heard_s = now_s - lost->silent_s, .is_gone = lost->is_gone, .is_missed = true};
}

void LeaderHeartbeat::on_close(comm::MessagePeerId peer, const std::string&) {
  const std::lock_guard lock(mutex_);
  const auto number = number_of_peer_.find(peer);
  if (number == number_of_peer_.end()) return;
  if (Rank& rank = rank_of_number_[number->second]; rank.peer == peer) rank.is_gone = true;
  number_of_peer_.erase(number);
}

}  // namespace tenax::resilience
