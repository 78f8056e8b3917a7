#include "comm/inbox/asynchronous_receive.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/failure.hpp"
#include "comm/pieces.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr double kCopyDeadline_s = 60;  // a device that takes longer to end its copies is broken

}  // namespace

AsynchronousReceive::~AsynchronousReceive() {
  if (is_done_) return;
  state_->cancel_asynchronous(*receive_);
  try {
    if (is_enqueued_) receive_->host_buffer.copied->wait(kernels::Deadline::after_s(kCopyDeadline_s));
  } catch (const std::exception&) {
    // Whoever waits for the device elsewhere hears of it.
  }
  state_->give_back(*receive_, receive_->phase == State::Phase::received);
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
  throw kernels::Error(kernels::Scope::link, timeout_sentence(state_->describe(*receive_), state_->me,
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
  if (receive_->phase == State::Phase::failed) receive_->failure.raise();
  return receive_->phase >= State::Phase::received || receive_->pieces_here > 0;
}

bool AsynchronousReceive::is_received() const {
  const std::lock_guard lock(state_->mutex);
  if (receive_->phase == State::Phase::failed) receive_->failure.raise();
  return receive_->phase >= State::Phase::received;
}

void AsynchronousReceive::enqueue() {
  if (is_enqueued_) return;
  state_->draw_tickets(*receive_);
  state_->copy_in_or_throw().copy(receive_->host_buffer, receive_->tensor, *receive_->writable,
                                  receive_->tickets);
  is_enqueued_ = true;
}

void AsynchronousReceive::finish() {
  timing_ = {receive_->timing.started_s, receive_->host_buffer.copied->time_s()};
  is_done_ = true;
  state_->give_back(*receive_, true);
}

/// If the message has not come yet: the copy then waits for its tickets.
void Inbox::State::draw_tickets(Receive& receive) {
  const std::lock_guard lock(mutex);
  if (receive.phase == Phase::failed) receive.failure.raise();
  if (receive.phase >= Phase::received) return;
  if (failure) failure->raise();  // nothing waits for it any more
  receive.tickets =
      copy_in->draw_tickets(receive.host_buffer.shared_id != 0 ? pieces_of(receive.tensor.bytes()) : 1);
  const std::uint32_t here = std::exchange(receive.pieces_here, 0);
  while (receive.pieces_here < here) receive_piece(receive);
}

/// The next piece of the message is in the receive's host buffer.
void Inbox::State::receive_piece(Receive& receive) {
  const std::uint32_t index = receive.pieces_here++;
  if (index < receive.tickets.count) copy_in->mark_arrived(receive.tickets.first + index);
  if (index == 0) signal.notify();
}

/// A message that came before or while its receive was posted is in its buffer, or in a host buffer of its own.
void Inbox::State::receive_here(Receive& receive, Message message) {
  const std::uint64_t shared_id = message.header.shared_buffer;
  if (shared_id != 0 && shared_id != receive.host_buffer.shared_id) {
    copy_from_shared(shared_id, receive.host_buffer.memory(receive.tensor.bytes()));
    shared_buffers->release_received(shared_buffers->incoming(receive.tag, receive.number),
                                     SharedBufferId::of_code(shared_id), true);
  }
  if (shared_id == 0 && receive.tickets.count == 0 && receive.host_buffer.shared_id == 0) {
    std::swap(receive.host_buffer, message.host_buffer);
  } else if (shared_id == 0) {
    std::memcpy(receive.host_buffer.buffer->data(), message.host_buffer.buffer->data(),
                receive.tensor.bytes());
    copied_bytes += receive.tensor.bytes();
  }
  if (message.host_buffer) staging->give_back(std::move(message.host_buffer));
  end(receive, message, message.arrived_s);
}

/// Copies what is there for a receive that has another host buffer.
void Inbox::State::copy_from_shared(std::uint64_t code, std::span<std::byte> memory) {
  const auto source = shared_buffers->memory(SharedBufferId::of_code(code), memory.size());
  std::memcpy(memory.data(), source.get(), memory.size());
  copied_bytes += memory.size();
}

/// The receive's tensor and host buffer are nobody's once it returns, but the device's; copies that wait are cancelled.
void Inbox::State::cancel_asynchronous(Receive& receive) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return receive.phase != Phase::filling; });
  if (receive.phase == Phase::waiting) {
    posted.erase(Key(receive.tag, receive.number));
    receive.phase = Phase::failed;
    receive.failure = {kernels::Scope::link, describe(receive) + ": given up"};
  }
  const bool is_awaited = receive.tickets.count != 0 && receive.phase == Phase::failed;
  lock.unlock();
  if (is_awaited) fail(receive.failure);
}

/// close() leaves it to its transfers to find out.
CopyIn& Inbox::State::copy_in_or_throw() {
  if (copy_in) return *copy_in;
  const std::lock_guard lock(mutex);
  failure->raise();
}

/// `has_arrived`: nobody writes into the host buffer any more.
void Inbox::State::give_back(Receive& receive, bool has_arrived) {
  HostBuffer host_buffer = std::move(receive.host_buffer);
  if (!staging) return;
  if (host_buffer.shared_id == 0) return staging->give_back(std::move(host_buffer));
  shared_buffers->release_received(shared_buffers->incoming(receive.tag, receive.number),
                                   SharedBufferId::of_code(host_buffer.shared_id), has_arrived);
}

}  // namespace tenax::comm
