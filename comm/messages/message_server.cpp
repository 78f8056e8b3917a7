#include "comm/messages/message_server.hpp"

#include <algorithm>
#include <utility>

#include "comm/transport/outgoing_handshake.hpp"
#include "comm/transport/tcp_socket.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

constexpr double kPause_s = 0.1;  // while the process has no descriptor for anybody

/// "10.0.0.5:4000", "[fd00::2]:4000"
ListeningSocket listen_where(const std::string& place, Identity me) {
  const std::size_t colon = std::min(place.rfind(':'), place.size());
  std::string host = place.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (colon == place.size() || host == "0.0.0.0" || host == "::")
    throw kernels::Error(kernels::Scope::rank, "cannot listen at '" + place +
                                                   "': it must be ADDRESS:PORT, where others find this host");
  try {
    return listen_at(host, place.substr(colon + 1), me);
  } catch (const kernels::Error& error) {
    throw kernels::Error(kernels::Scope::rank, error.what());
  }
}

std::vector<ListeningSocket> listen_as(const MessageServerOptions& options) {
  if (options.listen.empty()) return listen_on_interfaces(options.interfaces, options.identity);
  std::vector<ListeningSocket> sockets;
  sockets.push_back(listen_where(options.listen, options.identity));
  return sockets;
}

}  // namespace

MessageServer::MessageServer(MessageServerOptions options, MessageHandler& handler)
    : silence_s_(options.silence_s),
      handler_(handler),
      sockets_(listen_as(options)),
      handshakes_(
          {options.secret, options.identity, IncomingHandshake::Expects::nothing, options.most_unproven}),
      peers_(poll_, handler) {
  for (const ListeningSocket& listener : sockets_) poll_.watch(listener.socket.get());
  thread_ = start_prompt_thread([this] { run(); });
}

MessageServer::~MessageServer() {
  is_stopping_ = true;
  poll_.wake();
  thread_.join();
}

std::vector<std::string> MessageServer::addresses() const {
  std::vector<std::string> all;
  for (const ListeningSocket& listener : sockets_) all.push_back(listener.address);
  return all;
}

void MessageServer::run() {
  while (!is_stopping_) {
    for (const int descriptor : poll_.wait(next_deadline())) advance(descriptor);
    handshakes_.drop_expired();
    if (listens_again_ && listens_again_->expired()) set_listening(true);
    tell_time();
    carry_out_commands();
    peers_.drop_ended();
  }
  carry_out_commands();
}

/// A descriptor that was closed meanwhile is none of these, or a new caller's, who has said nothing yet.
void MessageServer::advance(int descriptor) {
  if (peers_.has(descriptor)) return peers_.advance(descriptor);
  if (handshakes_.has(descriptor))
    return handshakes_.advance(descriptor,
                               [this](AuthenticatedSocket caller) { take_in(std::move(caller)); });
  for (const ListeningSocket& listener : sockets_)
    if (listener.socket.get() == descriptor) accept_from(listener);
}

void MessageServer::accept_from(const ListeningSocket& listener) {
  const IncomingHandshakes::Accepted accepted = handshakes_.accept_from(listener);
  if (accepted.lacks_descriptors) set_listening(false);
  if (accepted.socket < 0) return;
  try {
    poll_.watch(accepted.socket);
  } catch (const kernels::Error&) {  // no memory: the caller is not heard, and closed when its time is over
  }
}

void MessageServer::set_listening(bool listens) {
  listens_again_.reset();
  if (!listens) listens_again_ = Deadline::after_s(kPause_s);
  for (const ListeningSocket& listener : sockets_)
    poll_.set_interest(listener.socket.get(),
                       listens ? EventPoll::Interest::reads : EventPoll::Interest::none);
}

void MessageServer::take_in(AuthenticatedSocket caller) {
  send_accepted(caller.socket.get(), caller.address);
  peers_.open(MessageSocket(std::move(caller.socket), silence_s_), caller.request.purpose);
}

void MessageServer::send(MessagePeerId peer, std::string text) {
  command({.peer = peer, .text = std::move(text)});
}

void MessageServer::close(MessagePeerId peer) { command({.peer = peer, .text = {}, .closes = true}); }

void MessageServer::command(Command command) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = commands_.empty();
    commands_.push_back(std::move(command));
  }
  if (is_first) poll_.wake();
}

void MessageServer::carry_out_commands() {
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (const Command& command : commands)
    command.closes ? peers_.close(command.peer) : peers_.send(command.peer, command.text);
}

void MessageServer::run_at(Deadline time) {
  {
    const std::lock_guard lock(mutex_);
    time_ = time;
  }
  poll_.wake();
}

void MessageServer::tell_time() {
  {
    const std::lock_guard lock(mutex_);
    if (!time_ || !time_->expired()) return;
    time_.reset();
  }
  handler_.on_time();
}

Deadline MessageServer::next_deadline() {
  const std::lock_guard lock(mutex_);
  Deadline first = std::min(handshakes_.deadline(), peers_.deadline(),
                            [](const Deadline& a, const Deadline& b) { return a.when() < b.when(); });
  for (const auto& other : {listens_again_, time_})
    if (other && other->when() < first.when()) first = *other;
  return first;
}

}  // namespace tenax::comm
