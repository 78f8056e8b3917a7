#include "comm/staged/staged_transfers.hpp"

#include "comm/failure.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

/// Only an error gets here before the copy has ended: its tensor may go then.
StagedSend::~StagedSend() {
  if (done_) return;
  constexpr double kCopyGrace_s = 5;
  try {
    message_->host_buffer.copied->wait(Deadline::after_s(kCopyGrace_s));
  } catch (...) {  // the device is broken, which whoever uses it next will say
  }
}

bool StagedSend::done() {
  if (done_) return true;
  {
    const std::lock_guard lock(context_.mutex);
    if (message_->failure) message_->failure->raise();
    if (!message_->inner || !message_->inner->done()) return false;
    message_->inner.reset();
  }
  context_.give_back(std::move(message_->host_buffer));
  return done_ = true;
}

void StagedSend::wait(Deadline deadline) {
  if (poll_until([this] { return done(); }, deadline)) return;
  {
    const std::lock_guard lock(context_.mutex);
    if (message_->inner) message_->inner->wait(Deadline::after_s(0));
  }
  throw Error(Scope::link,
              timeout_sentence(what_, context_.inner->describe(context_.inner->rank()),
                               stopwatch_.elapsed_s(), "its own device to copy it to host memory"));
}

StagedReceive::~StagedReceive() {
  {
    const std::lock_guard lock(context_.mutex);
    inner_.reset();
  }
  if (host_buffer_) context_.give_back(std::move(host_buffer_));
}

/// Starts the copy in when the message is there.
bool StagedReceive::arrived() {
  if (!inner_) return true;
  {
    const std::lock_guard lock(context_.mutex);
    if (!inner_->done()) return false;
    inner_.reset();
  }
  context_.in->wait(*ready_);
  context_.device.kernels().copy(*context_.in, {host_buffer_.buffer->data(), tensor_.dtype, tensor_.shape},
                                 tensor_);
  context_.in->record(*host_buffer_.copied);
  return true;
}

bool StagedReceive::done() {
  if (!arrived()) return false;
  if (host_buffer_ && !host_buffer_.copied->done()) return false;
  if (host_buffer_) context_.give_back(std::move(host_buffer_));
  return true;
}

void StagedReceive::wait_for_arrival(Deadline deadline) {
  if (poll_until([this] { return arrived(); }, deadline)) return;
  const std::lock_guard lock(context_.mutex);
  inner_->wait(Deadline::after_s(0));  // says who did not send, unless it comes just now
}

void StagedReceive::wait(Deadline deadline) {
  wait_for_arrival(deadline);
  arrived();
  if (!host_buffer_) return;
  host_buffer_.copied->wait(deadline);
  done();
}

void StagedReceive::order_before(kernels::Stream& stream, Deadline deadline) {
  wait_for_arrival(deadline);
  arrived();
  if (host_buffer_) stream.wait(*host_buffer_.copied);
}

void StagedReceive::cancel(Deadline deadline) {
  if (inner_) {
    const std::lock_guard lock(context_.mutex);
    inner_->cancel(deadline);
  } else if (host_buffer_) {
    host_buffer_.copied->wait(deadline);
  }
}

}  // namespace tenax::comm
