#include "comm/delegates/incoming_channel.hpp"

#include "comm/inbox/message_check.hpp"
#include "comm/signal.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr double kIdle_s = 60;  // an idle link is no fault: the wait only has an end so that none is without
constexpr std::uint64_t kLeastOffered = std::uint64_t{64}
                                        << 10;  // bytes; less is copied before a question is answered

}  // namespace

IncomingChannel::IncomingChannel(const LinkParties& parties, int index, Inbox& inbox,
                                 SharedBufferPool& shared_buffers, bool offers, ChannelObserver& observer)
    : parties_(parties),
      inbox_(inbox),
      shared_buffers_(shared_buffers),
      offers_(offers),
      observer_(observer),
      reconnector_(parties,
                   parties.name + "/" + std::to_string(parties.peer.rank) + "." + std::to_string(index)) {
  thread_ = start_prompt_thread([this] { run(); });
}

void IncomingChannel::end() noexcept {
  stop();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<Connection> IncomingChannel::connection() const {
  const std::lock_guard lock(mutex_);
  return connection_;
}

void IncomingChannel::set_connection(std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  connection_ = std::move(connection);
}

void IncomingChannel::run() {
  try {
    while (const std::shared_ptr<Connection> connection = reconnector_.next()) {
      if (offers_) connection->offer(kLeastOffered);
      set_connection(connection);
      if (reconnector_.made() > 1) observer_.on_arrival();  // the last acknowledgement may be lost
      read(*connection);
      set_connection(nullptr);
    }
  } catch (...) {
    observer_.on_failure(failure_of(std::current_exception()));
  }
}

void IncomingChannel::settle(kernels::Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.when(), [&] { return !is_delivering_; });
}

void IncomingChannel::set_delivering(bool is_delivering) {
  change_and_notify(mutex_, changed_, [&] { is_delivering_ = is_delivering; });
}

void IncomingChannel::deliver(Connection& connection, const MessageHeader& header) {
  set_delivering(true);
  try {
    if (header.shared_buffer != 0)
      inbox_.deliver_shared(header, [&](std::size_t bytes) { await(connection, header, bytes); });
    else
      inbox_.deliver(header, [&](std::span<std::byte> memory) { read_payload(connection, memory); });
  } catch (...) {
    set_delivering(false);
    throw;
  }
  ++arrived_;
  set_delivering(false);
}

void IncomingChannel::read_payload(Connection& connection, std::span<std::byte> memory) const {
  const std::uint64_t uncopied_before = connection.uncopied_bytes();
  connection.receive_payload(memory, kernels::Deadline::after_s(parties_.deadline_s));
  observer_.on_copied(memory.size() - (connection.uncopied_bytes() - uncopied_before));
}

/// The sender's device is writing: only a sender that is gone, or in trouble, does not get there.
void IncomingChannel::await(Connection& connection, const MessageHeader& header, std::size_t bytes) {
  const auto is_over = [&] {
    try {
      connection.check();
    } catch (const kernels::Error&) {
      return true;
    }
    return false;
  };
  const auto outcome = shared_buffers_.await(SharedBufferId::of_code(header.shared_buffer), bytes, is_over,
                                             kernels::Deadline::after_s(parties_.deadline_s));
  if (outcome == FutexEvent::Outcome::done) return;
  connection.check();
  throw kernels::Error(kernels::Scope::link, connection.describe() +
                                                 ": a message that its sender had begun to copy did not "
                                                 "become complete before the deadline");
}

/// Returns when the connection is broken.
void IncomingChannel::read(Connection& connection) {
  try {
    for (;;)
      if (const auto header = connection.receive(kernels::Deadline::after_s(kIdle_s)))
        take(connection, *header);
  } catch (const kernels::Error& error) {
    if (error.scope() != kernels::Scope::link) throw;
  }
}

void IncomingChannel::take(Connection& connection, const MessageHeader& header) {
  if (header.kind != static_cast<std::int32_t>(MessageKind::data))
    refuse_faulty("is of the kind " + std::to_string(header.kind), connection.describe());
  if (header.sequence > arrived_)
    throw kernels::Error(kernels::Scope::link, connection.describe() + ": a message is missing");
  if (header.sequence == arrived_)
    deliver(connection, header);
  else  // sent again, though it had arrived
    skip_payload(header.payload_bytes,
                 [&](std::span<std::byte> memory) { read_payload(connection, memory); });
  observer_.on_arrival();
}

}  // namespace tenax::comm
