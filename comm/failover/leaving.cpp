// How a pair fails over. The end that notices tells the other over the control link which messages of the
// iteration it has, and cancels its direct transfers (state `failing_over`). The other end, polling, hears of it and does the
// same. With both notices exchanged (state `failed_over`) both make the delegated link, ask for what they lack there, and send what
// the peer lacks: the bytes were kept.
//
// An end may notice too late: its last send fails although the message had arrived, and the peer is through with the
// iteration. Then the acknowledgement is on its way and nothing is missing; the peer drops the notice. The next set_path
// settles the path for both. If another iteration comes before, this end fails over again at once; a peer that has failed over already
// (it joined just before it was through, when the first end was) answers.
#include <algorithm>
#include <cassert>

#include "comm/failover/failover_link.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

namespace {

/// What an end that fails over says of a message.
constexpr std::int32_t kNotAskedFor = 0, kHere = 1, kMissing = 2;

}  // namespace

void FailoverLink::hear_peer() {
  if (path_ == Path::delegated) return;
  const auto there = control_.notice(iteration_);
  if (!there) return;
  if (state_ == State::failed_over) return control_.notify(iteration_, receipts());
  if (state_ == State::direct) fail_over("the other end gave up " + direct_->describe());
  complete_failover(*there);
}

void FailoverLink::fail_over_again() {
  if (path_ == Path::direct && state_ == State::direct && !failure_.empty()) fail_over(std::string(failure_));
}

// In a catch block: for what is not the direct path's to end, it goes on.
void FailoverLink::fail_over_for(const Error& error) {
  if (error.scope() != Scope::link || path_ == Path::delegated || state_ != State::direct) throw;
  direct_path_broke_ = true;
  fail_over(error.what());
}

void FailoverLink::fail_over(const std::string& reason) {
  assert(state_ == State::direct);
  state_ = State::failing_over;
  failure_ = reason;
  control_.notify(iteration_, receipts());
  cancel_direct();
}

std::vector<std::int32_t> FailoverLink::receipts() const {
  std::vector<std::int32_t> here(static_cast<std::size_t>(options_.tags), kNotAskedFor);
  for (const auto& message : received_)
    here[static_cast<std::size_t>(message->tag)] = message->complete ? kHere : kMissing;
  return here;
}

// Memory that was to be received into is received into again, over delegates. Streams that wait there are let go.
void FailoverLink::cancel_direct() {
  const Deadline deadline = Deadline::after_s(options_.deadline_s);
  for (const auto& message : received_) {
    if (message->complete || !message->inner) continue;
    is_void_ = is_void_ || message->is_relied_on;
    message->inner->cancel(deadline);
    message->inner.reset();
  }
  for (const auto& message : sent_) {
    message->cancelled = std::move(message->inner);
    if (message->cancelled) message->cancelled->cancel(deadline);
  }
}

void FailoverLink::complete_failover(const std::vector<std::int32_t>& there) {
  make_delegated();
  state_ = State::failed_over;
  for (const auto& message : received_)
    if (!message->complete) start(*message);
  for (const auto& message : sent_) resend(*message, there[static_cast<std::size_t>(message->tag)]);
}

// Sends what the peer lacks: it was lost on the direct path, or not given to any. One that was sent just before the peer's
// deadline was over may not be lost: this end, too, had waited for a message, over another link.
void FailoverLink::resend(FailoverMessage& message, std::int32_t there) {
  const bool long_ago = kernels::steady_now_s() - message.sent_s > options_.deadline_s / 2;
  if (message.cancelled && there == kMissing && long_ago) direct_path_broke_ = true;
  if (there != kHere) start(message);
}

}  // namespace tenax::comm
