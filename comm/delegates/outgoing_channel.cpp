// A message stays in the queue until it is acknowledged; a new connection starts again at the first that is not. The
// receiver drops what it has already. So nothing is lost, doubled or reordered within a channel.
#include "comm/delegates/outgoing_channel.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "comm/inbox/message_check.hpp"
#include "comm/signal.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr double kLeastLook_s = 0.05;      // so that a wait which ends has something to find
constexpr double kLatestWaking_s = 0.002;  // what is later has other reasons, such as a connection being made

}  // namespace

EmulatedWire::Turn EmulatedWire::take(double ready_s, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const double begin_s = std::max(ready_s, free_s_);
  free_s_ = begin_s + 8 * static_cast<double>(bytes) / (gbps_ * 1e9);
  return {begin_s, free_s_};
}

OutgoingChannel::OutgoingChannel(const LinkParties& parties, int index, EmulatedWire& wire,
                                 ChannelObserver& observer)
    : parties_(parties),
      wire_(wire),
      observer_(observer),
      reconnector_(parties,
                   parties.name + "/" + std::to_string(parties.me.rank) + "." + std::to_string(index)) {
  sender_ = start_prompt_thread([this] { run_sender(); });
  try {
    reader_ = start_prompt_thread([this] { run_reader(); });
  } catch (...) {
    end();
    throw;
  }
}

void OutgoingChannel::end() noexcept {
  stop();
  if (sender_.joinable()) sender_.join();
  if (reader_.joinable()) reader_.join();
}

void OutgoingChannel::stop() noexcept {
  change_and_notify(mutex_, changed_, [this] { is_stopped_ = true; });
  reconnector_.close();
}

void OutgoingChannel::add(OutgoingPtr message) {
  change_and_notify(mutex_, changed_, [&] {
    message->header.sequence = sequences_++;
    messages_.push_back(std::move(message));
  });
}

void OutgoingChannel::acknowledge(std::uint64_t arrived) {
  std::vector<OutgoingPtr> delivered;
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock(mutex_);
    refuse_faulty(arrived <= begun_ ? "" : "acknowledges one that was never sent", parties_.name);
    while (!messages_.empty() && messages_.front()->header.sequence < arrived) {
      const OutgoingPtr message = messages_.front();
      messages_.pop_front();
      if (next_ > 0) --next_;
      message->is_acknowledged = true;
      message->mark_arrived();
      if (!message->is_sending)
        delivered.push_back(message);  // else a second copy is on its way: run_sender ends it
    }
    arrived_ = std::max(arrived_, arrived);
    connection = connection_;
  }
  if (connection) connection->note_delivered(arrived);
  for (const OutgoingPtr& message : delivered) observer_.on_delivered(message);
}

bool OutgoingChannel::can_read(std::span<const std::byte> memory) {
  const std::lock_guard lock(mutex_);
  return connection_ && connection_->can_read(memory);
}

void OutgoingChannel::run_sender() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_stopped_ || (connection_ && next_ < messages_.size()); });
    if (is_stopped_) return;
    const OutgoingPtr message = messages_[next_++];
    const std::shared_ptr<Connection> connection = connection_;
    message->is_sending = true;
    begun_ = std::max(begun_, message->header.sequence + 1);
    message->started_s = steady_now_s();
    lock.unlock();
    const bool is_sent = transmit(*connection, *message);
    if (!is_sent) lose(connection);
    lock.lock();
    message->is_sending = false;
    if (!message->is_acknowledged) continue;
    lock.unlock();
    observer_.on_delivered(message);
    lock.lock();
  }
}

/// False when the connection, or the link, is broken.
bool OutgoingChannel::transmit(Connection& connection, OutgoingMessage& message) {
  try {
    if (!message.host_buffer) message.ready->wait(kernels::Deadline::after_s(parties_.deadline_s));
    MessageHeader header = message.header;
    stamp(message, header);
    if (wire_.is_finite()) cross_wire(header);
    if (message.host_buffer && message.host_buffer.shared_id != 0) {
      header.shared_buffer = message.host_buffer.shared_id;
      header.payload_bytes = 0;
    }
    if (message.host_buffer.is_on_device && !connection.can_read(message.payload))
      observer_.on_host_needed(message);
    const std::uint64_t uncopied_before = connection.uncopied_bytes();
    const bool is_sent = transmit_payload(connection, message, header);
    last_left_s_ = steady_now_s() - header.late_s;
    observer_.on_copied(header.payload_bytes - (connection.uncopied_bytes() - uncopied_before));
    return is_sent;
  } catch (const kernels::Error& error) {
    if (error.scope() != kernels::Scope::link) fail(failure_of(std::current_exception()));
  } catch (...) {
    fail(failure_of(std::current_exception()));
  }
  return false;
}

/// In emulated time a message starts when it could, and by how much this thread woke later is not the link's doing.
void OutgoingChannel::stamp(const OutgoingMessage& message, MessageHeader& header) const {
  const double now_s = steady_now_s();
  const double due_s = message.ready_s > 0 ? std::max(message.ready_s, last_left_s_) : now_s;
  const double late_s = std::clamp(now_s - due_s, 0.0, kLatestWaking_s);
  header.started_s = now_s - late_s;
  header.late_s = late_s;
}

void OutgoingChannel::cross_wire(MessageHeader& header) const {
  const EmulatedWire::Turn turn = wire_.take(header.started_s, header.bytes);
  kernels::sleep_until_s(turn.end_s);
  header.started_s = turn.begin_s;
  header.late_s = std::max(0.0, steady_now_s() - turn.end_s);
}

bool OutgoingChannel::transmit_payload(Connection& connection, OutgoingMessage& message,
                                       const MessageHeader& header) {
  const kernels::Deadline deadline = kernels::Deadline::after_s(parties_.deadline_s);
  if (message.host_buffer) {
    connection.send(header, message.payload.first(header.payload_bytes), deadline);
    return true;
  }
  if (!message.begin_reading()) {
    fail({kernels::Scope::link, "delegated link " + parties_.name + " (" + parties_.describe() +
                                    "): a send was given up before it was done"});
    return false;
  }
  try {
    connection.send(header, message.payload, deadline);
  } catch (...) {
    message.end_reading();
    throw;
  }
  message.end_reading();
  return true;
}

/// Not the connection's fault: another one would not help.
void OutgoingChannel::fail(const Failure& failure) {
  observer_.on_failure(failure);
  stop();
}

/// The reader makes the next one.
void OutgoingChannel::lose(const std::shared_ptr<Connection>& connection) {
  connection->shut_down();
  const std::lock_guard lock(mutex_);
  if (connection_ == connection) connection_.reset();
}

void OutgoingChannel::run_reader() {
  try {
    while (const std::shared_ptr<Connection> connection = reconnector_.next()) {
      std::uint64_t arrived = 0;
      change_and_notify(mutex_, changed_, [&] {
        connection_ = connection;
        next_ = 0;
        arrived = arrived_;
      });
      connection->note_delivered(arrived);
      read(*connection);
      lose(connection);
    }
  } catch (...) {
    observer_.on_failure(failure_of(std::current_exception()));
  }
}

void OutgoingChannel::check(const Connection& connection, const MessageHeader& header) {
  const auto kind = static_cast<MessageKind>(header.kind);
  if (kind != MessageKind::acknowledgement && kind != MessageKind::farewell)
    refuse_faulty("is of the kind " + std::to_string(header.kind), connection.describe());
  refuse_faulty(fault_of_counts(header), connection.describe());
}

/// Returns when the connection is broken.
void OutgoingChannel::read(Connection& connection) {
  std::vector<std::uint64_t> arrived;
  try {
    for (;;) {
      const auto header =
          connection.receive(kernels::Deadline::after_s(std::max(until_silent_s(), kLeastLook_s)));
      if (!header && until_silent_s() <= 0) return;
      if (!header) continue;
      check(connection, *header);
      arrived.resize(header->payload_bytes / sizeof(std::uint64_t));
      connection.receive_payload(std::as_writable_bytes(std::span(arrived)),
                                 kernels::Deadline::after_s(parties_.deadline_s));
      observer_.on_acknowledged(arrived);
      if (header->kind == static_cast<std::int32_t>(MessageKind::farewell)) observer_.on_farewell();
    }
  } catch (const kernels::Error& error) {
    if (error.scope() != kernels::Scope::link) throw;
  }
}

/// A connection may be dead without knowing it: how long the peer may still leave the oldest message unacknowledged, or one
/// that is sent now.
double OutgoingChannel::until_silent_s() {
  const std::lock_guard lock(mutex_);
  if (messages_.empty() || next_ == 0) return parties_.deadline_s;
  return messages_.front()->started_s + parties_.deadline_s - steady_now_s();
}

}  // namespace tenax::comm
