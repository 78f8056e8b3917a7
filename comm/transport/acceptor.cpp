#include "comm/transport/acceptor.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "comm/transport/outgoing_handshake.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {
namespace {

constexpr int kPause_ms = 100;  // while the process has no descriptor for anybody

}  // namespace

Acceptor::Acceptor(std::vector<ListeningSocket> sockets, Rules rules, PendingConnections& pending)
    : sockets_(std::move(sockets)),
      rules_(std::move(rules)),
      pending_(pending),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
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
    for (const IncomingHandshake& handshake : handshakes_) polled.push_back({handshake.socket(), POLLIN, 0});
    for (const ListeningSocket& listener : sockets_) polled.push_back({listener.socket.get(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), patience_ms()) < 0) continue;  // EINTR
    if (polled[0].revents != 0) return;

    const std::size_t first_listener = 1 + handshakes_.size();
    std::size_t next = 1;
    std::erase_if(handshakes_,
                  [&](IncomingHandshake& handshake) { return !goes_on(handshake, polled[next++].revents); });
    for (std::size_t i = 0; i < sockets_.size(); ++i)
      if (polled[first_listener + i].revents != 0) accept_from(sockets_[i]);
  }
}

/// Until the first handshake's is at an end, and a bit more.
int Acceptor::patience_ms() const {
  if (handshakes_.empty()) return -1;
  const auto left = handshakes_.front().deadline().when() - kernels::Deadline::Clock::now();
  return 1 + static_cast<int>(std::max<std::int64_t>(
                 0, std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
}

bool Acceptor::goes_on(IncomingHandshake& handshake, short events) {
  try {
    const auto progress = events == 0 ? IncomingHandshake::Progress::waiting : handshake.advance();
    if (progress == IncomingHandshake::Progress::complete) accept_peer(handshake.take());
    return progress == IncomingHandshake::Progress::waiting && !handshake.deadline().expired();
  } catch (const std::exception&) {
    return false;  // the peer's own error says where
  }
}

/// Whoever is not accepted sees its connection closed, and comes again.
void Acceptor::accept_peer(AuthenticatedSocket peer) {
  const ConnectionRequest request = peer.request;
  const int socket = peer.socket.get();
  if (!pending_.has_room(request.from, request.purpose)) return;
  std::unique_ptr<Connection> connection = rules_.make_connection(std::move(peer));
  send_accepted(socket, connection->describe());
  pending_.add(request.from, request.purpose, std::move(connection));
}

void Acceptor::accept_from(const ListeningSocket& listener) {
  const bool has_room = handshakes_.size() < rules_.most_handshakes || drop_oldest();
  FileDescriptor socket(accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED || drop_oldest()) return;
    pollfd stop{stop_.get(), POLLIN, 0};  // out of descriptors, say: the caller stays in the queue
    poll(&stop, 1, kPause_ms);
    return;
  }
  if (has_room && is_of_this_user(socket.get()))
    handshakes_.emplace_back(std::move(socket), listener.address, Handshake(rules_.secret, rules_.me),
                             rules_.expects);
}

/// Of those that have proven nothing; false if there is none.
bool Acceptor::drop_oldest() {
  const auto oldest = std::find_if(handshakes_.begin(), handshakes_.end(),
                                   [](const IncomingHandshake& handshake) { return !handshake.is_proven(); });
  if (oldest == handshakes_.end()) return false;
  handshakes_.erase(oldest);
  return true;
}

}  // namespace tenax::comm
