// How a pair leaves the direct path. The end that notices tells the other over the control link which messages of the
// iteration it has, and gives its direct transfers up (state `leaving`). The other end, polling, hears of it and does the
// same. With both notices exchanged (state `left`) both make the delegated link, ask for what they lack there, and send what
// the peer lacks: the bytes were kept.
//
// An end may notice too late: its last send fails although the message had arrived, and the peer is through with the
// iteration. Then the acknowledgement is on its way and nothing is missing; the peer drops the notice. The next set_path
// settles the path for both. If another iteration comes before, this end leaves again at once; a peer that has left already
// (it joined just before it was through, when the first end was) answers.
#include <algorithm>
#include <cassert>

#include "comm/failover/failover_link.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

namespace {

/// What an end that leaves the direct path says of a message.
constexpr std::int32_t kNotAskedFor = 0, kHere = 1, kMissing = 2;

}  // namespace

void FailoverLink::serve() {
  if (path_ == Path::delegated) return;
  const auto there = control_.notice(iteration_);
  if (!there) return;
  if (state_ == State::left) return control_.notify(iteration_, here());
  if (state_ == State::direct) leave("the other end gave up " + direct_->describe());
  join_peer(*there);
}

void FailoverLink::stay_away() {
  if (path_ == Path::direct && state_ == State::direct && !failure_.empty()) leave(std::string(failure_));
}

// In a catch block: for what is not the direct path's to end, it goes on.
void FailoverLink::leave_for(const Error& error) {
  if (error.scope() != Scope::link || path_ == Path::delegated || state_ != State::direct) throw;
  direct_path_broke_ = true;
  leave(error.what());
}

void FailoverLink::leave(const std::string& reason) {
  assert(state_ == State::direct);
  state_ = State::leaving;
  failure_ = reason;
  control_.notify(iteration_, here());
  give_up_direct();
}

std::vector<std::int32_t> FailoverLink::here() const {
  std::vector<std::int32_t> here(static_cast<std::size_t>(options_.tags), kNotAskedFor);
  for (const auto& message : received_)
    here[static_cast<std::size_t>(message->tag)] = message->complete ? kHere : kMissing;
  return here;
}

// Memory that was to be received into is received into again, over delegates. Streams that wait there are let go.
void FailoverLink::give_up_direct() {
  const Deadline deadline = Deadline::after_s(options_.deadline_s);
  for (const auto& message : received_) {
    if (message->complete || !message->inner) continue;
    voids_ = voids_ || message->is_relied_on;
    message->inner->give_up(deadline);
    message->inner.reset();
  }
  for (const auto& message : sent_) {
    message->abandoned = std::move(message->inner);
    if (message->abandoned) message->abandoned->give_up(deadline);
  }
}

void FailoverLink::join_peer(const std::vector<std::int32_t>& there) {
  make_delegated();
  state_ = State::left;
  for (const auto& message : received_)
    if (!message->complete) start(*message);
  for (const auto& message : sent_) bring(*message, there[static_cast<std::size_t>(message->tag)]);
}

// Sends what the peer lacks: it was lost on the direct path, or not given to any. One that was sent just before the peer's
// deadline was over may not be lost: this end, too, had waited for a message, over another link.
void FailoverLink::bring(FailoverMessage& message, std::int32_t there) {
  const bool long_ago = kernels::steady_now_s() - message.sent_s > options_.deadline_s / 2;
  if (message.abandoned && there == kMissing && long_ago) direct_path_broke_ = true;
  if (there != kHere) start(message);
}

}  // namespace tenax::comm
