#include "resilience/replicas/rank_heartbeat.hpp"

#include <chrono>

#include "comm/worker.hpp"
#include "kernels/error.hpp"
#include "resilience/replicas/leader_heartbeat.hpp"

namespace tenax::resilience {

using kernels::Deadline;

void FrozenEpoch::raise(std::int64_t epoch) {
  std::int64_t before = word_;
  while (before < epoch && !word_.compare_exchange_weak(before, epoch)) {
  }
}

RankHeartbeat::RankHeartbeat(const Options& options, FrozenEpoch& frozen)
    : interval_s_(options.interval_s),
      dead_s_(options.dead_s),
      host_ranks_(options.host_ranks),
      when_hopeless_(options.when_hopeless),
      frozen_(frozen),
      client_({.secret = options.secret,
               .addresses = options.leader,
               .purpose = heartbeat_purpose(options.rank),
               .deadline = Deadline::after_s(options.deadline_s)}) {
  thread_ = comm::start_prompt_thread([this] { run(); });
}

RankHeartbeat::~RankHeartbeat() {
  stopping_ = true;
  client_.wake();
  thread_.join();
}

void RankHeartbeat::run() {
  try {
    while (!stopping_) beat();
  } catch (const kernels::Error&) {  // the leader is gone, or has no more use for this rank
    freeze(FrozenEpoch::kAll);
  }
  for (; !stopping_; std::this_thread::sleep_for(std::chrono::duration<double>(interval_s_)))
    when_hopeless_();
}

void RankHeartbeat::beat() {
  client_.send(kBeat);
  const auto next = Deadline::after_s(interval_s_);
  while (!stopping_ && !next.expired())
    if (const auto word = client_.receive(next)) freeze(epoch_of_freeze(*word));
  tell_missed();
  if (frozen_.word() == FrozenEpoch::kAll) when_hopeless_();
}

void RankHeartbeat::freeze(std::int64_t epoch) {
  if (host_ranks_)
    host_ranks_->freeze(epoch);
  else
    frozen_.raise(epoch);
}

void RankHeartbeat::tell_missed() {
  if (!host_ranks_) return;
  if (const auto missed = host_ranks_->silent_rank(dead_s_)) client_.send(lost_word(*missed));
}

}  // namespace tenax::resilience
