#include "comm/inbox_state.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::comm {
namespace {

constexpr double kCopyDeadline_s = 60;  // a device that takes longer to copy a message is broken
constexpr int kEarlySlots = 4;          // for messages that come before their receive is posted

}  // namespace

/// What needs the device comes first, without the lock.
Inbox::State::ReceivePtr Inbox::State::prepare(kernels::Stream* stream, const kernels::Tensor& tensor,
                                               Tag tag) {
  const auto receive = std::make_shared<Receive>();
  receive->tensor = tensor;
  receive->tag = tag;
  receive->posted_s = steady_now_s();
  if (!landing) return receive;
  assert(stream && "an asynchronous device orders a receive after what its tensor was used for");
  receive->writable = device.create_event();
  stream->record(*receive->writable);
  receive->slot = staging->take(tensor.bytes());
  staging->stock(tensor.bytes(), kEarlySlots);
  return receive;
}

Inbox::State::ReceivePtr Inbox::State::post(kernels::Stream* stream, const kernels::Tensor& tensor, Tag tag) {
  const ReceivePtr receive = prepare(stream, tensor, tag);
  std::unique_lock lock(mutex);
  receive->number = tallies[tag].posted++;
  const Key key(tag, receive->number);
  if (const auto found = early.find(key); found != early.end()) {
    const auto message = std::make_shared<Message>(std::move(found->second));
    early.erase(found);
    if (copies && message->slot) {  // copying takes time on a device, and posting must not
      receive->phase = Phase::filling;
      copier->add([this, receive, message] {
        std::unique_lock inner(mutex);
        place(inner, *receive, std::move(*message));
      });
    } else {
      place(lock, *receive, std::move(*message));
    }
  } else if (failure) {
    receive->phase = Phase::failed;
    receive->failure = *failure;
  } else {
    posted.emplace(key, receive);
  }
  return receive;
}

void Inbox::State::deliver(const MessageHeader& header, const Read& read) {
  const Key key(header.tag, header.number);
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !arriving.contains(key); });
  const bool is_new = !was_delivered(key);
  arriving.insert(key);
  const ReceivePtr direct = is_new ? claim(key, header) : nullptr;
  lock.unlock();
  Message message;
  double arrived_s = 0;
  try {
    if (direct) {
      read(memory_of(*direct));
      arrived_s = steady_now_s() - header.late_s;
    } else {
      message = fetch(header, read, &arrived_s);
    }
  } catch (...) {
    lock.lock();
    unclaim(key, direct);
    throw;
  }
  message.header = header;
  message.arrived_s = arrived_s;
  lock.lock();
  if (is_new) mark_delivered(key);
  if (direct) {
    end(*direct, message, arrived_s);
  } else if (!is_new) {
    if (message.slot) staging->give_back(std::move(message.slot));
  } else if (const auto found = posted.find(key); found != posted.end()) {
    const ReceivePtr receive = found->second;
    posted.erase(found);
    place(lock, *receive, std::move(message));
  } else {
    early.emplace(key, std::move(message));
  }
  arriving.erase(key);
  changed.notify_all();
}

std::span<std::byte> Inbox::State::memory_of(const Receive& receive) const {
  return landing ? receive.slot.memory(receive.tensor.bytes()) : receive.tensor.raw();
}

/// The receive that the payload can be read into as it comes.
Inbox::State::ReceivePtr Inbox::State::claim(const Key& key, const MessageHeader& header) {
  const auto found = posted.find(key);
  if (found == posted.end() || copies || header.payload_bytes == 0) return nullptr;
  const ReceivePtr receive = found->second;
  if (header.bytes != receive->tensor.bytes() || header.payload_bytes != header.bytes) return nullptr;
  posted.erase(found);
  receive->phase = Phase::filling;
  return receive;
}

void Inbox::State::unclaim(const Key& key, const ReceivePtr& receive) {
  arriving.erase(key);
  if (receive && failure) {
    receive->phase = Phase::failed;
    receive->failure = *failure;
  } else if (receive) {
    receive->phase = Phase::waiting;
    posted.emplace(key, receive);
  }
  changed.notify_all();
  signal.notify();
}

Inbox::State::Message Inbox::State::fetch(const MessageHeader& header, const Read& read, double* arrived_s) {
  assert(header.payload_bytes == 0 || header.payload_bytes == header.bytes);
  Message message;
  const bool costs_a_copy = copies && header.bytes > 0;
  if (header.payload_bytes > 0 || costs_a_copy) message.slot = staging->take(header.payload_bytes);
  try {
    if (header.payload_bytes > 0) read(message.slot.memory(header.payload_bytes));
  } catch (...) {
    staging->give_back(std::move(message.slot));
    throw;
  }
  *arrived_s = steady_now_s() - header.late_s;
  return message;
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
void Inbox::State::place(std::unique_lock<std::mutex>& lock, Receive& receive, Message message) {
  const bool fits = message.header.bytes == receive.tensor.bytes();
  if (landing && message.slot && fits) return land(receive, std::move(message));
  if (message.slot && fits) {
    receive.phase = Phase::filling;
    lock.unlock();
    copy(receive, std::move(message));
    lock.lock();
    return;
  }
  if (message.slot) staging->give_back(std::move(message.slot));
  end(receive, message, message.arrived_s);
}

void Inbox::State::copy(Receive& receive, Message message) {
  try {
    staging->copy_in(message.slot, receive.tensor, std::max(message.arrived_s, receive.posted_s));
    if (copies) {
      {
        const std::lock_guard lock(mutex);
        receive.phase = Phase::copying;
        receive.copied = message.slot.copied.get();
      }
      signal.notify();
    }
    const double arrived_s = staging->finish(message.slot, kernels::Deadline::after_s(kCopyDeadline_s));
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
  staging->give_back(std::move(message.slot));
}

void Inbox::State::end(Receive& receive, const Message& message, double arrived_s) {
  receive.copied = nullptr;
  if (failure && receive.turn != 0) {  // its copy did not wait to the end
    receive.phase = Phase::failed;
    receive.failure = *failure;
  } else if (message.header.bytes == receive.tensor.bytes()) {
    receive.phase = landing ? Phase::landed : Phase::done;
    receive.timing = {message.header.started_s, arrived_s};
  } else {
    receive.phase = Phase::failed;
    receive.failure = {kernels::Scope::link, describe(receive) + ": " + peer + " sent " +
                                                 std::to_string(message.header.bytes) + " bytes to " + me +
                                                 "; both ends must name the same count"};
  }
  if (receive.turn != 0) landing->arrive(receive.turn);
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
  if (landing) landing->open();
  changed.notify_all();
  signal.notify();
}

void Inbox::State::withdraw(Receive& receive) {
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
  landing.reset();
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
