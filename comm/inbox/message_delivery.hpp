// MessageDelivery: one message on its way from a reader thread's connection into an inbox.
#pragma once

#include <mutex>

#include "comm/inbox/inbox_state.hpp"

namespace tenax::comm {

/// From construction on, the message is this thread's: another delivery of it waits. Where its
/// receive is posted already and the bytes can go straight into that receive's memory, the delivery
/// claims it.
class MessageDelivery {
 public:
  /// Throws Error(link) for a header that no peer of ours sends. `state` must outlive the delivery.
  MessageDelivery(Inbox::State& state, const MessageHeader& header);
  MessageDelivery(const MessageDelivery&) = delete;
  MessageDelivery& operator=(const MessageDelivery&) = delete;

  /// One of the two, once. What `read` or `await` throws leaves here; then the message may be
  /// delivered again. The payload follows on the connection.
  void read(const Inbox::Read& read);
  /// The payload is in a shared buffer.
  void await(const Inbox::Await& await);

 private:
  using Phase = PostedReceive::Phase;
  void check() const;
  void check_own_buffer() const;
  PostedReceivePtr claim();
  bool is_unwanted() const;
  std::span<std::byte> claimed_memory() const;
  ArrivedMessage fetch(const Inbox::Read& read);
  void await_pieces(const Inbox::Await& await);
  void arrive(ArrivedMessage message);
  void release();

  Inbox::State& state_;
  const MessageHeader header_;
  const MessageMatching::Key key_;
  bool is_new_ = false;       // it was not delivered before
  bool is_early_ = false;     // new, and no receive is posted
  bool is_unwanted_ = false;  // its bytes are not needed
  PostedReceivePtr claimed_;  // null: the bytes go elsewhere first
};

}  // namespace tenax::comm
