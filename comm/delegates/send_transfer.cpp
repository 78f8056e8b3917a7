#include "comm/delegates/send_transfer.hpp"

#include "comm/failure.hpp"

namespace tenax::comm {

SendTransfer::SendTransfer(OutgoingPtr message, std::shared_ptr<const LinkFailure> failure, Signal& signal,
                           std::string me, std::string peer)
    : message_(std::move(message)),
      failure_(std::move(failure)),
      signal_(signal),
      me_(std::move(me)),
      peer_(std::move(peer)) {}

SendTransfer::~SendTransfer() { message_->cancel(); }

bool SendTransfer::done() {
  if (message_->is_released()) return true;
  if (!message_->has_arrived()) failure_->raise_if_set();
  return message_->is_released();
}

void SendTransfer::wait(kernels::Deadline deadline) {
  if (done()) return;  // also when link and signal are gone
  if (signal_.wait_until([this] { return done(); }, deadline)) return;
  const std::string what = describe_message("delegated send", message_->header.bytes, message_->header.tag);
  throw kernels::Error(kernels::Scope::link, timeout_sentence(what, me_, stopwatch_.elapsed_s(), peer_));
}

void SendTransfer::order_before(kernels::Stream& stream, kernels::Deadline deadline) {
  if (!message_->copied)
    wait(deadline);
  else if (!done())
    stream.wait(*message_->copied);
}

}  // namespace tenax::comm
