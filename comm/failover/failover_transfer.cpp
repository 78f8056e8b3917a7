#include "comm/failover/failover_transfer.hpp"

#include "comm/poll.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

using kernels::Deadline;

FailoverTransfer::~FailoverTransfer() { link_.cancel(*message_); }

void FailoverTransfer::wait(Deadline deadline) {
  const auto is_done = [this] { return done(); };
  if (poll_until(is_done, deadline)) return;
  if (link_.path_ == Path::direct) {
    if (link_.state_ == FailoverLink::State::direct)
      link_.fail_over(describe() + " on " + link_.describe() + " missed its deadline");
    if (poll_until(is_done, Deadline::after_s(link_.options_.deadline_s))) return;
  }
  throw kernels::Error(kernels::Scope::link,
                       describe() + " on " + link_.describe() + ": no answer within " +
                           std::to_string(link_.options_.deadline_s) + " s" +
                           (link_.failure_.empty() ? "" : "; before that: " + link_.failure_));
}

bool FailoverTransfer::orders_without_blocking() const { return link_.orders_without_blocking(*message_); }

void FailoverTransfer::order_before(kernels::Stream& stream, Deadline deadline) {
  if (orders_without_blocking() && link_.order(*message_, stream, deadline)) return;
  wait(deadline);
  if (message_->inner) message_->inner->order_before(stream, deadline);
}

std::string FailoverTransfer::describe() const {
  return std::string(message_->outgoing ? "send" : "receive") + " of " +
         std::to_string(message_->tensor.bytes()) + " bytes (tag " + std::to_string(message_->tag) + ")";
}

}  // namespace tenax::comm
