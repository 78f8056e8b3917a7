// What reader threads do with messages.
#include <algorithm>
#include <vector>

#include "comm/inbox/inbox_state.hpp"
#include "comm/inbox/message_check.hpp"
#include "comm/pieces.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kUnknown = std::size_t{1}
                                 << 20;  // bytes of a message of unknown size that memory is there for

}  // namespace

void Inbox::State::check(const MessageHeader& header) {
  const bool has_shared_buffers = shared_buffers && shared_buffers->is_open();
  refuse_faulty(fault_of(header, {device.has_data(), has_shared_buffers}), peer);
  if (header.shared_buffer == 0) return;
  if (shared_buffers->is_own(SharedBufferId::of_code(header.shared_buffer))) return check_own_buffer(header);
  shared_buffers->memory(SharedBufferId::of_code(header.shared_buffer), header.bytes);
}

/// It is the one that the message's receive offers; a receive that has been given up is not asked any more.
void Inbox::State::check_own_buffer(const MessageHeader& header) {
  const std::lock_guard lock(mutex);
  const auto found = posted.find(Key(header.tag, header.number));
  const bool is_known = found == posted.end() ? header.number < tallies[header.tag].posted
                                              : found->second->host_buffer.shared_id == header.shared_buffer;
  refuse_faulty(is_known ? "" : "is in a place of " + me + " that is another's", peer);
}

/// False for a message that was delivered before. It is this thread's alone until arrive() or release().
bool Inbox::State::begin(std::unique_lock<std::mutex>& lock, const Key& key) {
  changed.wait(lock, [&] { return !arriving.contains(key); });
  arriving.insert(key);
  return !was_delivered(key);
}

void Inbox::State::deliver(const MessageHeader& header, const Read& read) {
  check(header);
  const Key key(header.tag, header.number);
  std::unique_lock lock(mutex);
  const bool is_new = begin(lock, key);
  const ReceivePtr direct = is_new ? claim(key, header) : nullptr;
  const bool is_unwanted = !is_new || is_of_another_size(key, header);
  lock.unlock();
  Message message;
  double arrived_s = 0;
  try {
    if (is_unwanted) {
      skip_payload(header.payload_bytes, read);
    } else if (direct) {
      read(memory_of(*direct));
      arrived_s = steady_now_s() - header.late_s;
    } else {
      message = fetch(header, read, &arrived_s);
    }
  } catch (...) {
    lock.lock();
    release(key, direct);
    throw;
  }
  copied_bytes += header.payload_bytes;
  message.header = header;
  message.arrived_s = arrived_s;
  lock.lock();
  arrive(lock, is_new, direct, std::move(message));
}

/// Waits for messages that nobody expects yet too: who waits is a thread of the connection, and has nothing else to do.
void Inbox::State::deliver_shared(const MessageHeader& header, const Await& await) {
  check(header);
  const Key key(header.tag, header.number);
  std::unique_lock lock(mutex);
  const bool is_new = begin(lock, key);
  const ReceivePtr direct = is_new ? claim(key, header) : nullptr;
  const bool is_early = is_new && !direct && !posted.contains(key);
  lock.unlock();
  try {
    if (direct && direct->host_buffer.shared_id == header.shared_buffer) {
      follow_shared(*direct, header, await);
    } else if (is_new) {
      if (is_early)
        shared_buffers->retain(shared_buffers->incoming(header.tag, header.number),
                               SharedBufferId::of_code(header.shared_buffer));
      await(header.bytes);
      if (direct) copy_from_shared(header.shared_buffer, memory_of(*direct));
    }
  } catch (...) {
    lock.lock();
    release(key, direct);
    throw;
  }
  lock.lock();
  arrive(lock, is_new, direct, {header, {}, steady_now_s() - header.late_s});
}

void Inbox::State::follow_shared(Receive& receive, const MessageHeader& header, const Await& await) {
  for (std::uint32_t piece = 0; piece < pieces_of(header.bytes); ++piece) {
    await(end_of_piece(piece, header.bytes));
    const std::lock_guard lock(mutex);
    if (receive.pieces_here == piece) receive_piece(receive);  // else it came over an earlier connection
  }
}

void Inbox::State::arrive(std::unique_lock<std::mutex>& lock, bool is_new, const ReceivePtr& direct,
                          Message message) {
  const Key key(message.header.tag, message.header.number);
  if (is_new) mark_delivered(key);
  if (direct) {
    end(*direct, message, message.arrived_s);
  } else if (!is_new) {
    if (message.host_buffer) staging->give_back(std::move(message.host_buffer));
  } else if (const auto found = posted.find(key); found != posted.end()) {
    const ReceivePtr receive = found->second;
    posted.erase(found);
    hand_over(lock, *receive, std::move(message));
  } else {
    early.emplace(key, std::move(message));
  }
  arriving.erase(key);
  changed.notify_all();
}

std::span<std::byte> Inbox::State::memory_of(const Receive& receive) const {
  return copy_in ? receive.host_buffer.memory(receive.tensor.bytes()) : receive.tensor.raw();
}

bool Inbox::State::is_of_another_size(const Key& key, const MessageHeader& header) const {
  const auto found = posted.find(key);
  return found != posted.end() && found->second->tensor.bytes() != header.bytes;
}

/// The receive that the payload can be read into as it comes.
Inbox::State::ReceivePtr Inbox::State::claim(const Key& key, const MessageHeader& header) {
  const auto found = posted.find(key);
  const bool is_shared = header.shared_buffer != 0;
  if (found == posted.end() || copies || (header.payload_bytes == 0 && !is_shared)) return nullptr;
  const ReceivePtr receive = found->second;
  if (header.bytes != receive->tensor.bytes()) return nullptr;
  if (header.payload_bytes != header.bytes && !is_shared) return nullptr;
  posted.erase(found);
  receive->phase = Phase::filling;
  return receive;
}

void Inbox::State::release(const Key& key, const ReceivePtr& receive) {
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
  Message message;
  const bool costs_a_copy = copies && header.bytes > 0;
  if (header.payload_bytes > 0 || costs_a_copy)
    message.host_buffer = read_into_host_buffer(header.payload_bytes, read);
  *arrived_s = steady_now_s() - header.late_s;
  return message;
}

/// A size that nobody here has named yet is the sender's word alone: memory for it grows with what has come.
HostBuffer Inbox::State::read_into_host_buffer(std::size_t bytes, const Read& read) {
  std::unique_lock lock(mutex);
  const std::size_t known = std::max(largest_posted, kUnknown);
  lock.unlock();
  std::vector<std::byte> come;
  while (bytes > known && come.size() < bytes) {
    const std::size_t before = come.size();
    come.resize(std::min(bytes, std::max(known, 2 * before)));
    read(std::span(come).subspan(before));
  }
  HostBuffer host_buffer = staging->take(bytes);
  try {
    if (!come.empty())
      std::copy(come.begin(), come.end(), host_buffer.memory(bytes).begin());
    else if (bytes > 0)
      read(host_buffer.memory(bytes));
  } catch (...) {
    staging->give_back(std::move(host_buffer));
    throw;
  }
  return host_buffer;
}

}  // namespace tenax::comm
