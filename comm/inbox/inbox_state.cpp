#include "comm/inbox/inbox_state.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::comm {
namespace {

constexpr double kCopyDeadline_s = 60;  // a device that takes longer to copy a message is broken
constexpr int kEarlyBuffers = 4;        // for messages that come before their receive is posted

}  // namespace

/// What needs the device comes first, without the lock.
Inbox::State::ReceivePtr Inbox::State::prepare(kernels::Stream* stream, const kernels::Tensor& tensor,
                                               Tag tag) {
  const auto receive = std::make_shared<Receive>();
  receive->tensor = tensor;
  receive->tag = tag;
  receive->number = draw_number(tag, tensor.bytes());
  receive->posted_s = steady_now_s();
  if (!copy_in) return receive;
  assert(stream && "an asynchronous device orders a receive after what its tensor was used for");
  receive->writable = device.create_event();
  stream->record(*receive->writable);
  receive->host_buffer = take_host_buffer(*receive);
  return receive;
}

std::uint64_t Inbox::State::draw_number(Tag tag, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  largest_posted = std::max(largest_posted, bytes);
  return tallies[tag].posted++;
}

HostBuffer Inbox::State::take_host_buffer(const Receive& receive) {
  const std::size_t bytes = receive.tensor.bytes();
  HostBuffer host_buffer;
  if (shared_buffers)
    host_buffer = shared_buffers->buffer_for(shared_buffers->incoming(receive.tag, receive.number), bytes);
  if (host_buffer)
    host_buffer.copied = device.create_event();
  else
    host_buffer = staging->take(bytes);
  staging->stock(bytes, kEarlyBuffers);  // others may come without a shared buffer, before they are expected
  return host_buffer;
}

Inbox::State::ReceivePtr Inbox::State::post(kernels::Stream* stream, const kernels::Tensor& tensor, Tag tag) {
  const ReceivePtr receive = prepare(stream, tensor, tag);
  std::unique_lock lock(mutex);
  const Key key(tag, receive->number);
  if (const auto found = early.find(key); found != early.end()) {
    const auto message = std::make_shared<Message>(std::move(found->second));
    early.erase(found);
    if (copies && message->host_buffer) {  // copying takes time on a device, and posting must not
      receive->phase = Phase::filling;
      copier->add([this, receive, message] {
        std::unique_lock inner(mutex);
        hand_over(inner, *receive, std::move(*message));
      });
    } else {
      hand_over(lock, *receive, std::move(*message));
    }
  } else if (failure) {
    receive->phase = Phase::failed;
    receive->failure = *failure;
  } else {
    posted.emplace(key, receive);
  }
  return receive;
}

bool Inbox::State::was_delivered(const Key& key) {
  const Tally& tally = tallies[key.first];
  return key.second < tally.delivered_below || tally.delivered.contains(key.second);
}

void Inbox::State::mark_delivered(const Key& key) {
  Tally& tally = tallies[key.first];
  tally.delivered.insert(key.second);
  while (tally.delivered.erase(tally.delivered_below) > 0) ++tally.delivered_below;
}

/// Brings a message that is here to its receive, which is in nobody else's hands. Unlocks while it copies.
void Inbox::State::hand_over(std::unique_lock<std::mutex>& lock, Receive& receive, Message message) {
  const bool fits = message.header.bytes == receive.tensor.bytes();
  if (copy_in && (message.host_buffer || message.header.shared_buffer != 0) && fits)
    return receive_here(receive, std::move(message));
  if (message.host_buffer && fits) {
    receive.phase = Phase::filling;
    lock.unlock();
    copy(receive, std::move(message));
    lock.lock();
    return;
  }
  if (message.host_buffer) staging->give_back(std::move(message.host_buffer));
  end(receive, message, message.arrived_s);
}

void Inbox::State::copy(Receive& receive, Message message) {
  try {
    staging->copy_in(message.host_buffer, receive.tensor, std::max(message.arrived_s, receive.posted_s));
    if (copies) {
      {
        const std::lock_guard lock(mutex);
        receive.phase = Phase::copying;
        receive.copied = message.host_buffer.copied.get();
      }
      signal.notify();
    }
    const double arrived_s =
        staging->finish(message.host_buffer, kernels::Deadline::after_s(kCopyDeadline_s));
    const std::lock_guard lock(mutex);
    end(receive, message, arrived_s);
  } catch (...) {
    const std::lock_guard lock(mutex);
    receive.phase = Phase::failed;
    receive.failure = failure_of(std::current_exception());
    receive.copied = nullptr;
    changed.notify_all();
    signal.notify();
  }
  staging->give_back(std::move(message.host_buffer));
}

void Inbox::State::end(Receive& receive, const Message& message, double arrived_s) {
  receive.copied = nullptr;
  if (failure && receive.tickets.count != 0) {  // its copy did not wait to the end
    receive.phase = Phase::failed;
    receive.failure = *failure;
  } else if (message.header.bytes == receive.tensor.bytes()) {
    receive.phase = copy_in ? Phase::received : Phase::done;
    receive.timing = {message.header.started_s, arrived_s};
  } else {
    receive.phase = Phase::failed;
    receive.failure = {kernels::Scope::link, describe(receive) + ": " + peer + " sent " +
                                                 std::to_string(message.header.bytes) + " bytes to " + me +
                                                 "; both ends must name the same count"};
  }
  while (receive.pieces_here < receive.tickets.count) receive_piece(receive);
  changed.notify_all();
  signal.notify();
}

void Inbox::State::fail(const Failure& error) {
  const std::lock_guard lock(mutex);
  if (failure) return;
  failure = error;
  for (const auto& [key, receive] : posted) {
    receive->phase = Phase::failed;
    receive->failure = error;
  }
  posted.clear();
  if (copy_in) copy_in->cancel();
  changed.notify_all();
  signal.notify();
}

void Inbox::State::cancel(Receive& receive) {
  std::unique_lock lock(mutex);
  if (receive.phase == Phase::waiting) {
    posted.erase(Key(receive.tag, receive.number));
    receive.phase = Phase::failed;
    receive.failure = {kernels::Scope::link, describe(receive) + ": given up"};
  }
  changed.wait(lock, [&] { return receive.phase == Phase::done || receive.phase == Phase::failed; });
}

void Inbox::State::close() {
  copier.reset();
  fail({kernels::Scope::link, "the link between " + me + " and " + peer + " was closed"});
  copy_in.reset();
  const std::lock_guard lock(mutex);
  assert(arriving.empty() && "readers end before the inbox");
  early.clear();
  staging.reset();
}

std::string Inbox::State::describe(const Receive& receive) const {
  return "receive of " + std::to_string(receive.tensor.bytes()) + " bytes (tag " +
         std::to_string(receive.tag) + ")";
}

}  // namespace tenax::comm
