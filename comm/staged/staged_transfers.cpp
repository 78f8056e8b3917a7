#include "comm/staged/staged_transfers.hpp"

#include "comm/wording.hpp"
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
    message_->slot.copied->wait(Deadline::after_s(kCopyGrace_s));
  } catch (...) {  // the device is broken, which whoever uses it next will say
  }
}

bool StagedSend::done() {
  if (done_) return true;
  {
    const std::lock_guard lock(place_.mutex);
    if (message_->failure) message_->failure->raise();
    if (!message_->inner || !message_->inner->done()) return false;
    message_->inner.reset();
  }
  place_.give_back(std::move(message_->slot));
  return done_ = true;
}

void StagedSend::wait(Deadline deadline) {
  if (poll_until([this] { return done(); }, deadline)) return;
  {
    const std::lock_guard lock(place_.mutex);
    if (message_->inner) message_->inner->wait(Deadline::after_s(0));
  }
  throw Error(Scope::link, gave_up(what_, place_.inner->describe(place_.inner->rank()),
                                   stopwatch_.elapsed_s(), "its own device to copy it to host memory"));
}

StagedReceive::~StagedReceive() {
  {
    const std::lock_guard lock(place_.mutex);
    inner_.reset();
  }
  if (slot_) place_.give_back(std::move(slot_));
}

/// Starts the copy in when the message is there.
bool StagedReceive::arrived() {
  if (!inner_) return true;
  {
    const std::lock_guard lock(place_.mutex);
    if (!inner_->done()) return false;
    inner_.reset();
  }
  place_.in->wait(*ready_);
  place_.device.kernels().copy(*place_.in, {slot_.buffer->data(), tensor_.dtype, tensor_.shape}, tensor_);
  place_.in->record(*slot_.copied);
  return true;
}

bool StagedReceive::done() {
  if (!arrived()) return false;
  if (slot_ && !slot_.copied->done()) return false;
  if (slot_) place_.give_back(std::move(slot_));
  return true;
}

void StagedReceive::wait_for_arrival(Deadline deadline) {
  if (poll_until([this] { return arrived(); }, deadline)) return;
  const std::lock_guard lock(place_.mutex);
  inner_->wait(Deadline::after_s(0));  // says who did not send, unless it comes just now
}

void StagedReceive::wait(Deadline deadline) {
  wait_for_arrival(deadline);
  arrived();
  if (!slot_) return;
  slot_.copied->wait(deadline);
  done();
}

void StagedReceive::order_before(kernels::Stream& stream, Deadline deadline) {
  wait_for_arrival(deadline);
  arrived();
  if (slot_) stream.wait(*slot_.copied);
}

void StagedReceive::give_up(Deadline deadline) {
  if (inner_) {
    const std::lock_guard lock(place_.mutex);
    inner_->give_up(deadline);
  } else if (slot_) {
    slot_.copied->wait(deadline);
  }
}

}  // namespace tenax::comm
