#include "comm/landing_receive.hpp"

#include <algorithm>
#include <cstring>

#include "comm/wording.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr double kCopyDeadline_s = 60;  // a device that takes longer to end its copies is broken

}  // namespace

LandingReceive::~LandingReceive() {
  if (is_done_) return;
  state_->abandon(*receive_);
  try {
    if (is_enqueued_) receive_->slot.copied->wait(kernels::Deadline::after_s(kCopyDeadline_s));
  } catch (const std::exception&) {
    // Whoever waits for the device elsewhere hears of it.
  }
  state_->give_back(std::move(receive_->slot));
}

bool LandingReceive::done() {
  if (is_done_) return true;
  if (!has_landed()) return false;
  enqueue();
  if (receive_->slot.copied->done()) finish();
  return is_done_;
}

void LandingReceive::wait(kernels::Deadline deadline) {
  if (is_done_) return;  // also when inbox and signal are gone
  if (!has_landed() && !state_->signal.wait_until([this] { return has_landed(); }, deadline))
    throw kernels::Error(kernels::Scope::link, gave_up(state_->describe(*receive_), state_->me,
                                                       stopwatch_.elapsed_s(), state_->peer));
  enqueue();
  receive_->slot.copied->wait(deadline);
  finish();
}

void LandingReceive::order_before(kernels::Stream& stream, kernels::Deadline) {
  if (is_done_) return;
  if (!is_enqueued_ && state_->take_turn(*receive_)) state_->landing->hold(receive_->turn);
  enqueue();
  stream.wait(*receive_->slot.copied);
}

bool LandingReceive::has_landed() const {
  const std::lock_guard lock(state_->mutex);
  if (receive_->phase == State::Phase::failed) receive_->failure.raise();
  return receive_->phase >= State::Phase::landed;
}

void LandingReceive::enqueue() {
  if (is_enqueued_) return;
  state_->landing_or_throw().copy(receive_->slot, receive_->tensor, *receive_->writable);
  is_enqueued_ = true;
}

void LandingReceive::finish() {
  timing_ = {receive_->timing.started_s, receive_->slot.copied->time_s()};
  is_done_ = true;
  state_->give_back(std::move(receive_->slot));
}

/// True when the message has not come yet: the copy then waits for its turn.
bool Inbox::State::take_turn(Receive& receive) {
  const std::lock_guard lock(mutex);
  if (receive.phase == Phase::failed) receive.failure.raise();
  if (receive.phase >= Phase::landed) return false;
  if (failure) failure->raise();  // nothing waits for it any more
  receive.turn = landing->take_turn();
  return true;
}

/// A message that came while its receive was posted is in a slot of its own.
void Inbox::State::land(Receive& receive, Message message) {
  if (receive.turn == 0)
    std::swap(receive.slot, message.slot);
  else
    std::memcpy(receive.slot.buffer->data(), message.slot.buffer->data(), receive.tensor.bytes());
  staging->give_back(std::move(message.slot));
  end(receive, message, message.arrived_s);
}

/// The receive's tensor and slot are nobody's once it returns, but the device's; copies that wait are let go.
void Inbox::State::abandon(Receive& receive) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return receive.phase != Phase::filling; });
  if (receive.phase == Phase::waiting) {
    posted.erase(Key(receive.tag, receive.number));
    receive.phase = Phase::failed;
    receive.failure = {kernels::Scope::link, describe(receive) + ": given up"};
  }
  const bool is_awaited = receive.turn != 0 && receive.phase == Phase::failed;
  lock.unlock();
  if (is_awaited) fail(receive.failure);
}

/// close() leaves it to its transfers to find out.
Landing& Inbox::State::landing_or_throw() {
  if (landing) return *landing;
  const std::lock_guard lock(mutex);
  failure->raise();
}

void Inbox::State::give_back(HostStaging::Slot slot) {
  if (staging) staging->give_back(std::move(slot));
}

}  // namespace tenax::comm
