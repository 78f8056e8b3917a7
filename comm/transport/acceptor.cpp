#include "comm/transport/acceptor.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "comm/transport/outgoing_handshake.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {
namespace {

constexpr int kPause_ms = 100;  // while the process has no descriptor for anybody

}  // namespace

Acceptor::Acceptor(std::vector<ListeningSocket> sockets, IncomingHandshakes::Rules rules,
                   IncomingHandshakes::Taker take)
    : sockets_(std::move(sockets)),
      take_(std::move(take)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      handshakes_(std::move(rules)) {
  if (!stop_) throw_link_error("listening for connections", "no eventfd", errno);
  thread_ = start_prompt_thread([this] { run(); });
}

Acceptor::~Acceptor() {
  const std::uint64_t one = 1;
  // An eventfd that counts from 0 always has room for 1.
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Acceptor::run() {
  for (;;) {
    std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}};
    for (const ListeningSocket& listener : sockets_) polled.push_back({listener.socket.get(), POLLIN, 0});
    for (const int socket : handshakes_.sockets()) polled.push_back({socket, POLLIN, 0});
    if (poll(polled.data(), polled.size(), milliseconds_until(handshakes_.deadline())) < 0)
      continue;  // EINTR
    if (polled[0].revents != 0) return;

    for (std::size_t i = 1 + sockets_.size(); i < polled.size(); ++i)
      if (polled[i].revents != 0) handshakes_.advance(polled[i].fd, take_);
    handshakes_.drop_expired();
    for (std::size_t i = 0; i < sockets_.size(); ++i)
      if (polled[1 + i].revents != 0) accept_from(sockets_[i]);
  }
}

void Acceptor::accept_from(const ListeningSocket& listener) {
  if (!handshakes_.accept_from(listener).lacks_descriptors) return;
  pollfd stop{stop_.get(), POLLIN, 0};
  poll(&stop, 1, kPause_ms);
}

void admit(AuthenticatedSocket peer, const ConnectionMaker& make_connection, PendingConnections& pending) {
  const ConnectionRequest request = peer.request;
  const int socket = peer.socket.get();
  if (!pending.has_room(request.from, request.purpose)) return;
  std::unique_ptr<Connection> connection = make_connection(std::move(peer));
  send_accepted(socket, connection->describe());
  pending.add(request.from, request.purpose, std::move(connection));
}

}  // namespace tenax::comm
