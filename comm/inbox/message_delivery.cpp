#include "comm/inbox/message_delivery.hpp"

#include <algorithm>

#include "comm/inbox/message_check.hpp"
#include "comm/pieces.hpp"

namespace tenax::comm {

MessageDelivery::MessageDelivery(Inbox::State& state, const MessageHeader& header)
    : state_(state), header_(header), key_(header.tag, header.number) {
  check();
  std::unique_lock lock(state_.mutex);
  state_.changed.wait(lock, [&] { return !state_.matching.is_arriving(key_); });
  state_.matching.begin_arrival(key_);
  is_new_ = !state_.matching.was_delivered(key_);
  if (is_new_) claimed_ = claim();
  is_early_ = is_new_ && !claimed_ && !state_.matching.find(key_);
  is_unwanted_ = !is_new_ || is_unwanted();
}

void MessageDelivery::check() const {
  MessageBuffers& buffers = state_.buffers;
  refuse_faulty(fault_of(header_, {state_.device.has_data(), buffers.has_shared()}), state_.peer);
  if (header_.shared_buffer == 0) return;
  if (buffers.is_own(header_.shared_buffer)) return check_own_buffer();
  buffers.check_shared(header_.shared_buffer, header_.bytes);
}

/// It is the one that the message's receive offers; a receive that has been cancelled is not asked any more.
void MessageDelivery::check_own_buffer() const {
  const std::lock_guard lock(state_.mutex);
  const PostedReceivePtr receive = state_.matching.find(key_);
  const bool is_known =
      receive ? receive->host_buffer.shared_id == header_.shared_buffer : state_.matching.was_numbered(key_);
  refuse_faulty(is_known ? "" : "is in a shared buffer of " + state_.me + " that is another's", state_.peer);
}

/// The receive that the payload can be read into as it comes.
PostedReceivePtr MessageDelivery::claim() {
  const PostedReceivePtr receive = state_.matching.find(key_);
  const bool is_shared = header_.shared_buffer != 0;
  if (!receive || state_.copies || (header_.payload_bytes == 0 && !is_shared)) return nullptr;
  if (header_.bytes != receive->tensor.bytes()) return nullptr;
  if (header_.payload_bytes != header_.bytes && !is_shared) return nullptr;
  state_.matching.remove(key_);
  receive->phase = Phase::filling;
  return receive;
}

/// The receive names another count, and will fail.
bool MessageDelivery::is_unwanted() const {
  const PostedReceivePtr receive = state_.matching.find(key_);
  return receive && receive->tensor.bytes() != header_.bytes;
}

std::span<std::byte> MessageDelivery::claimed_memory() const {
  return state_.copy_in ? claimed_->host_buffer.memory(header_.bytes) : claimed_->tensor.raw();
}

void MessageDelivery::read(const Inbox::Read& read) {
  ArrivedMessage message;
  try {
    if (is_unwanted_) {
      skip_payload(header_.payload_bytes, read);
    } else if (claimed_) {
      read(claimed_memory());
      message.arrived_s = steady_now_s() - header_.late_s;
    } else {
      message = fetch(read);
    }
  } catch (...) {
    release();
    throw;
  }
  arrive(std::move(message));
}

/// Waits for messages that nobody expects yet too: who waits is a thread of the connection, and has nothing else to do.
void MessageDelivery::await(const Inbox::Await& await) {
  const std::uint64_t id = header_.shared_buffer;
  try {
    if (claimed_ && claimed_->host_buffer.shared_id == id) {
      await_pieces(await);
    } else if (is_new_) {
      if (is_early_) state_.buffers.retain_shared(id, header_.tag, header_.number);
      await(header_.bytes);
      if (claimed_) state_.buffers.copy_from_shared(id, claimed_memory());
    }
  } catch (...) {
    release();
    throw;
  }
  arrive({{}, {}, steady_now_s() - header_.late_s});
}

void MessageDelivery::await_pieces(const Inbox::Await& await) {
  for (std::uint32_t piece = 0; piece < pieces_of(header_.bytes); ++piece) {
    await(end_of_piece(piece, header_.bytes));
    const std::lock_guard lock(state_.mutex);
    if (claimed_->pieces_here == piece)
      state_.receive_piece(*claimed_);  // else it came over an earlier connection
  }
}

ArrivedMessage MessageDelivery::fetch(const Inbox::Read& read) {
  ArrivedMessage message;
  const bool costs_a_copy = state_.copies && header_.bytes > 0;
  if (header_.payload_bytes > 0 || costs_a_copy) {
    std::unique_lock lock(state_.mutex);
    const std::size_t known = state_.matching.largest();
    lock.unlock();
    message.host_buffer = state_.buffers.read(header_.payload_bytes, known, read);
  }
  message.arrived_s = steady_now_s() - header_.late_s;
  return message;
}

void MessageDelivery::arrive(ArrivedMessage message) {
  message.header = header_;
  std::unique_lock lock(state_.mutex);
  MessageMatching& matching = state_.matching;
  if (is_new_) matching.mark_delivered(key_);
  if (claimed_) {
    state_.end(*claimed_, message, message.arrived_s);
  } else if (!is_new_) {
    if (message.host_buffer) state_.buffers.give_back(std::move(message.host_buffer));
  } else if (const PostedReceivePtr receive = matching.find(key_)) {
    matching.remove(key_);
    state_.hand_over(lock, *receive, std::move(message));
  } else {
    matching.keep(key_, std::move(message));
  }
  matching.end_arrival(key_);
  state_.changed.notify_all();
}

/// The message did not come: its receive waits again.
void MessageDelivery::release() {
  const std::lock_guard lock(state_.mutex);
  state_.matching.end_arrival(key_);
  if (claimed_ && state_.failure) {
    claimed_->fail(*state_.failure);
  } else if (claimed_) {
    claimed_->phase = Phase::waiting;
    state_.matching.post(claimed_);
  }
  state_.changed.notify_all();
  state_.signal.notify();
}

}  // namespace tenax::comm
