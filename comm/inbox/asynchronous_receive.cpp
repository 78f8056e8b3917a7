#include "comm/inbox/asynchronous_receive.hpp"

#include <utility>

#include "comm/failure.hpp"
#include "comm/inbox/copy_in.hpp"
#include "comm/pieces.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {}  // namespace

AsynchronousReceive::~AsynchronousReceive() {
  if (is_done_) return;
  cancel_message();
  try {
    if (is_enqueued_) receive_->host_buffer.copied->wait(kernels::Deadline::after_s(kCopyDeadline_s));
  } catch (const std::exception&) {
    // Whoever waits for the device elsewhere hears of it.
  }
  give_back(receive_->phase == Phase::received);
}

bool AsynchronousReceive::done() {
  if (is_done_) return true;
  if (!is_coming()) return false;
  enqueue();
  if (is_received() && receive_->host_buffer.copied->done()) finish();
  return is_done_;
}

void AsynchronousReceive::wait(kernels::Deadline deadline) {
  if (is_done_) return;  // also when inbox and signal are gone
  await([this] { return is_coming(); }, deadline);
  enqueue();
  await([this] { return is_received(); }, deadline);
  receive_->host_buffer.copied->wait(deadline);
  finish();
}

template <class Ready>
void AsynchronousReceive::await(Ready ready, kernels::Deadline deadline) {
  if (ready() || state_->signal.wait_until(ready, deadline)) return;
  throw kernels::Error(kernels::Scope::link, timeout_sentence(receive_->describe(), state_->me,
                                                              stopwatch_.elapsed_s(), state_->peer));
}

void AsynchronousReceive::order_before(kernels::Stream& stream, kernels::Deadline) {
  if (is_done_) return;
  enqueue();
  stream.wait(*receive_->host_buffer.copied);
}

/// Its first piece is here: the others follow as fast as the sender's device copies, and this one's can follow them.
bool AsynchronousReceive::is_coming() const {
  const std::lock_guard lock(state_->mutex);
  if (receive_->phase == Phase::failed) receive_->failure.raise();
  return receive_->phase >= Phase::received || receive_->pieces_here > 0;
}

bool AsynchronousReceive::is_received() const {
  const std::lock_guard lock(state_->mutex);
  if (receive_->phase == Phase::failed) receive_->failure.raise();
  return receive_->phase >= Phase::received;
}

void AsynchronousReceive::enqueue() {
  if (is_enqueued_) return;
  draw_tickets();
  copy_in().copy(receive_->host_buffer, receive_->tensor, *receive_->writable, receive_->tickets);
  is_enqueued_ = true;
}

/// If the message has not come yet: the copy then waits for its tickets.
void AsynchronousReceive::draw_tickets() {
  const std::lock_guard lock(state_->mutex);
  if (receive_->phase == Phase::failed) receive_->failure.raise();
  if (receive_->phase >= Phase::received) return;
  if (state_->failure) state_->failure->raise();  // nothing waits for it any more
  const bool is_shared = receive_->host_buffer.shared_id != 0;
  receive_->tickets = state_->copy_in->draw_tickets(is_shared ? pieces_of(receive_->tensor.bytes()) : 1);
  const std::uint32_t here = std::exchange(receive_->pieces_here, 0);
  while (receive_->pieces_here < here) state_->receive_piece(*receive_);
}

/// Inbox::State::close() leaves it to its transfers to find out.
CopyIn& AsynchronousReceive::copy_in() const {
  if (state_->copy_in) return *state_->copy_in;
  const std::lock_guard lock(state_->mutex);
  state_->failure->raise();
}

/// On return tensor and host buffer are in use by the device alone; copies that wait are cancelled.
void AsynchronousReceive::cancel_message() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return receive_->phase != Phase::filling; });
  state_->fail_cancelled(*receive_);
  const bool is_awaited = receive_->tickets.count != 0 && receive_->phase == Phase::failed;
  lock.unlock();
  if (is_awaited) state_->fail(receive_->failure);
}

void AsynchronousReceive::give_back(bool has_arrived) {
  state_->buffers.give_back(std::move(receive_->host_buffer), receive_->tag, receive_->number, has_arrived);
}

void AsynchronousReceive::finish() {
  timing_ = {receive_->timing.started_s, receive_->host_buffer.copied->time_s()};
  is_done_ = true;
  give_back(true);
}

}  // namespace tenax::comm
