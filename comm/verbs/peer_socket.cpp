// On the wire, once the handshake is over: notices (peer_notice.hpp); after a goodbye the end.
#include "comm/verbs/peer_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "comm/transport/tcp_socket.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr double kUnusedSilence_s = 10;

}  // namespace

PeerSocket::PeerSocket(std::string where, OnNotice on_notice)
    : wake_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      where_(std::move(where)),
      on_notice_(std::move(on_notice)) {
  if (!wake_up_) throw_link_error(where_, "no eventfd", errno);
}

// A notice goes at once, also where the other end has not acknowledged the handshake's last word yet.
void PeerSocket::attach(FileDescriptor socket) {
  const int at_once = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  socket_ = std::move(socket);
  keep_tcp_alive(socket_.get(), kUnusedSilence_s);
}

void PeerSocket::begin() noexcept { keep_tcp_alive(socket_.get(), 0); }

PeerSocket::State PeerSocket::look() {
  while (const std::optional<PeerNotice> notice = next_notice()) on_notice_(*notice);
  return state_;
}

/// Nothing: no more has come, or there will be none.
std::optional<PeerNotice> PeerSocket::next_notice() {
  const std::lock_guard lock(reading_);
  while (socket_ && state_ == State::open && read_some()) {
    if (incoming_bytes_ < incoming_.size()) continue;
    incoming_bytes_ = 0;
    const std::optional<PeerNotice> notice = PeerNotice::parse(incoming_);
    if (notice && notice->kind != PeerNotice::Kind::goodbye) return notice;
    if (notice) goodbye_frames_ = notice->count;
    state_ = notice ? State::closing : State::gone;  // whoever says what is no notice is not listened to
  }
  return std::nullopt;
}

bool PeerSocket::read_some() {
  const ssize_t got = recv(socket_.get(), incoming_.data() + incoming_bytes_,
                           incoming_.size() - incoming_bytes_, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) state_ = State::gone;
  if (got > 0) incoming_bytes_ += static_cast<std::size_t>(got);
  return got > 0;
}

/// Where the socket has no room for a few bytes the other end has stopped reading, and the connection with it.
void PeerSocket::tell(const PeerNotice& notice) noexcept {
  const PeerNotice::Bytes bytes = notice.bytes();
  const std::lock_guard lock(telling_);
  if (!socket_) return;
  const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0 && sent < static_cast<ssize_t>(bytes.size())) shutdown(socket_.get(), SHUT_RDWR);
}

void PeerSocket::shut_down() noexcept {
  is_shut_down_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_up_.get(), &one, sizeof one);
  shutdown(socket_.get(), SHUT_RDWR);
}

void PeerSocket::sleep(std::initializer_list<int> channels, kernels::Deadline deadline) const {
  std::vector<pollfd> polled;
  for (const int channel : channels) polled.push_back({channel, POLLIN, 0});
  add_to(polled);
  wait_for_sockets(polled, deadline);
}

/// A socket that has said all is readable for ever: it is left out.
void PeerSocket::add_to(std::vector<pollfd>& polled) const {
  if (state_ == State::open) polled.push_back({socket_.get(), POLLIN, 0});
  polled.push_back({wake_up_.get(), POLLIN, 0});
}

}  // namespace tenax::comm::verbs
