#include "comm/messages/message_client.hpp"

#include <cassert>

#include "comm/transport/outgoing_handshake.hpp"
#include "comm/transport/tcp_socket.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

double seconds_until(Deadline deadline) {
  return std::chrono::duration<double>(deadline.when() - Deadline::Clock::now()).count();
}

FileDescriptor connect_to(const std::string& address, const MessageClientOptions& options,
                          Deadline deadline) {
  const std::optional<Identity> there = Identity::of_address(address);
  if (!there || !address.starts_with(kTcpPrefix))
    throw_link_error("connecting for " + options.purpose,
                     "'" + address + "' is not an address that a service has told");
  const ConnectionRequest request{*there, Identity::random(), options.purpose};
  const std::string where = plain_address(address);
  return connect_and_prove({options.secret, request, where, deadline},
                           [&] { return connect_tcp(address, deadline); });
}

/// Each address gets its share of the time. Throws what the last one did.
FileDescriptor connect_to_any(const MessageClientOptions& options) {
  assert(!options.addresses.empty());
  for (std::size_t i = 0;; ++i) {
    const std::size_t left = options.addresses.size() - i;
    const double share_s = seconds_until(options.deadline) / static_cast<double>(left);
    try {
      return connect_to(options.addresses[i], options, Deadline::after_s(share_s));
    } catch (const kernels::Error&) {
      if (left == 1) throw;
    }
  }
}

}  // namespace

MessageClient::MessageClient(const MessageClientOptions& options)
    : socket_(connect_to_any(options), options.silence_s, options.is_patient) {
  poll_.watch(socket_.descriptor());
}

void MessageClient::send(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const bool waited = socket_.has_unsent();
  socket_.send(text);
  if (!waited && socket_.has_unsent())
    poll_.set_interest(socket_.descriptor(), EventPoll::Interest::reads_and_writes);
}

std::optional<std::string> MessageClient::receive(Deadline deadline) {
  while (received_.empty()) {
    const bool is_ready = !poll_.wait(deadline).empty();
    if (is_ready) advance();
    if (received_.empty() && (!is_ready || poll_.was_woken())) return std::nullopt;
  }
  std::string text = std::move(received_.front());
  received_.pop_front();
  return text;
}

void MessageClient::advance() {
  std::vector<std::string> texts;
  {
    const std::lock_guard lock(mutex_);
    socket_.read(texts);
    if (socket_.has_unsent()) {
      socket_.flush();
      if (!socket_.has_unsent()) poll_.set_interest(socket_.descriptor(), EventPoll::Interest::reads);
    }
  }
  for (std::string& text : texts) received_.push_back(std::move(text));
}

}  // namespace tenax::comm
