// What reader threads do with messages.
#include <algorithm>
#include <cassert>

#include "comm/inbox_state.hpp"
#include "comm/pieces.hpp"

namespace tenax::comm {

/// False for a message that was delivered before. It is this thread's alone until arrive() or unclaim().
bool Inbox::State::begin(std::unique_lock<std::mutex>& lock, const Key& key) {
  changed.wait(lock, [&] { return !arriving.contains(key); });
  arriving.insert(key);
  return !was_delivered(key);
}

void Inbox::State::deliver(const MessageHeader& header, const Read& read) {
  const Key key(header.tag, header.number);
  std::unique_lock lock(mutex);
  const bool is_new = begin(lock, key);
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
  copied_bytes += header.payload_bytes;
  message.header = header;
  message.arrived_s = arrived_s;
  lock.lock();
  arrive(lock, is_new, direct, std::move(message));
}

/// Waits for messages that nobody expects yet too: who waits is a thread of the connection, and has nothing else to do.
void Inbox::State::deliver_in_place(const MessageHeader& header, const Await& await) {
  const Key key(header.tag, header.number);
  std::unique_lock lock(mutex);
  const bool is_new = begin(lock, key);
  const ReceivePtr direct = is_new ? claim(key, header) : nullptr;
  lock.unlock();
  try {
    if (direct && direct->slot.place == header.place) {
      fill_in_place(*direct, header, await);
    } else if (is_new) {
      await(header.bytes);
      if (direct) read_place(header.place, memory_of(*direct));
    }
  } catch (...) {
    lock.lock();
    unclaim(key, direct);
    throw;
  }
  lock.lock();
  arrive(lock, is_new, direct, {header, {}, steady_now_s() - header.late_s});
}

void Inbox::State::fill_in_place(Receive& receive, const MessageHeader& header, const Await& await) {
  for (std::uint32_t piece = 0; piece < pieces_of(header.bytes); ++piece) {
    await(end_of_piece(piece, header.bytes));
    const std::lock_guard lock(mutex);
    if (receive.pieces_here == piece) land_piece(receive);  // else it came over an earlier connection
  }
}

void Inbox::State::arrive(std::unique_lock<std::mutex>& lock, bool is_new, const ReceivePtr& direct,
                          Message message) {
  const Key key(message.header.tag, message.header.number);
  if (is_new) mark_delivered(key);
  if (direct) {
    end(*direct, message, message.arrived_s);
  } else if (!is_new) {
    if (message.slot) staging->give_back(std::move(message.slot));
  } else if (const auto found = posted.find(key); found != posted.end()) {
    const ReceivePtr receive = found->second;
    posted.erase(found);
    place(lock, *receive, std::move(message));
  } else {
    if (const std::uint64_t code = message.header.place)
      places->keep(places->incoming(key.first, key.second), PlaceId::of_code(code));
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
  const bool is_in_place = header.place != 0;
  if (found == posted.end() || copies || (header.payload_bytes == 0 && !is_in_place)) return nullptr;
  const ReceivePtr receive = found->second;
  if (header.bytes != receive->tensor.bytes()) return nullptr;
  if (header.payload_bytes != header.bytes && !is_in_place) return nullptr;
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

}  // namespace tenax::comm
