// On the wire, once the handshake is over: a goodbye (8 bytes: the number of frames), then the end.
#include "comm/verbs/peer_socket.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tenax::comm::verbs {

PeerSocket::PeerSocket(std::string where)
    : wake_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), where_(std::move(where)) {
  if (!wake_up_) throw_link_error(where_, "no eventfd", errno);
}

PeerSocket::State PeerSocket::look() {
  const std::lock_guard lock(mutex_);
  while (socket_ && state_ == State::open) {
    auto* const bytes = reinterpret_cast<std::byte*>(&incoming_);
    const ssize_t got =
        recv(socket_.get(), bytes + incoming_bytes_, sizeof incoming_ - incoming_bytes_, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {
      state_ = State::gone;
      break;
    }
    incoming_bytes_ += static_cast<std::size_t>(got);
    if (incoming_bytes_ < sizeof incoming_) continue;
    goodbye_frames_ = incoming_;
    state_ = State::closing;
  }
  return state_;
}

void PeerSocket::say_goodbye(std::uint64_t frames) noexcept {
  // Nobody is told where the other end has left already.
  [[maybe_unused]] const ssize_t sent =
      send(socket_.get(), &frames, sizeof frames, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void PeerSocket::shut_down() noexcept {
  is_shut_down_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_up_.get(), &one, sizeof one);
  shutdown(socket_.get(), SHUT_RDWR);
}

/// A socket that has said all is readable for ever: it is left out.
void PeerSocket::sleep(int channel, kernels::Deadline deadline) const {
  const int socket = state_ == State::open ? socket_.get() : -1;
  std::array<pollfd, 3> polled{pollfd{channel, POLLIN, 0}, {socket, POLLIN, 0}, {wake_up_.get(), POLLIN, 0}};
  wait_for_sockets(polled, deadline);
}

}  // namespace tenax::comm::verbs
