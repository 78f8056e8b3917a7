#include "comm/failover/failover_transfer.hpp"

#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

using kernels::Deadline;
using State = FailoverExchange::State;

FailoverTransfer::~FailoverTransfer() {
  if (message_->outgoing || message_->complete || !orders_without_blocking()) return;
  try {
    message_->inner->cancel(Deadline::after_s(0));
  } catch (const kernels::Error&) {
    // Nobody waits for it any more.
  }
  message_->inner.reset();
}

void FailoverTransfer::wait(Deadline deadline) {
  const auto is_done = [this] { return done(); };
  if (poll_until(is_done, deadline)) return;
  if (link_.path_ == Path::direct) {
    if (link_.has_direct_path())
      link_.fail_over(describe() + " on " + link_.describe() + " missed its deadline");
    if (poll_until(is_done, Deadline::after_s(link_.options_.deadline_s))) return;
  }
  throw kernels::Error(kernels::Scope::link,
                       describe() + " on " + link_.describe() + ": no answer within " +
                           std::to_string(link_.options_.deadline_s) + " s" +
                           (link_.failure().empty() ? "" : "; before that: " + link_.failure()));
}

bool FailoverTransfer::orders_without_blocking() const {
  if (message_->retransmit) return true;  // its tensor must last for the copy alone
  if (link_.path_ == Path::direct && link_.exchange_.state() == State::failing_over) return false;
  return message_->inner && message_->inner->orders_without_blocking();
}

void FailoverTransfer::order_before(kernels::Stream& stream, Deadline deadline) {
  if (orders_without_blocking() && try_order_before(stream, deadline)) return;
  wait(deadline);
  if (message_->inner) message_->inner->order_before(stream, deadline);
}

// False when the direct path turns out to be broken.
bool FailoverTransfer::try_order_before(kernels::Stream& stream, Deadline deadline) {
  if (message_->retransmit) {
    stream.wait(*message_->retransmit.written);
    return true;
  }
  try {
    message_->inner->order_before(stream, deadline);
  } catch (const kernels::Error& error) {
    link_.fail_over_or_rethrow(error);
    return false;
  }
  message_->is_relied_on = true;
  return true;
}

std::string FailoverTransfer::describe() const {
  return describe_message(message_->outgoing ? "send" : "receive", message_->tensor.bytes(), message_->tag);
}

}  // namespace tenax::comm
