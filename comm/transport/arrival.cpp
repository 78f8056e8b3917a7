#include "comm/transport/arrival.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace tenax::comm {
namespace {

Arrival::Progress unless_it_may_come(ssize_t got) {
  const bool may_come = got < 0 && (errno == EAGAIN || errno == EINTR);
  return may_come ? Arrival::Progress::waiting : Arrival::Progress::refused;
}

}  // namespace

Arrival::Progress Arrival::attend() {
  while (!handshake_.is_over())
    if (const Progress progress = hear(); progress != Progress::complete) return progress;
  if (!handshake_.is_proven()) return Progress::refused;
  visitor_.greeting = handshake_.greeting();
  return brings_ == Brings::memory ? receive_memory() : Progress::complete;
}

/// One message. recv, unlike recvmsg, lets no descriptor in: the kernel closes what came along.
Arrival::Progress Arrival::hear() {
  const std::size_t expected = handshake_.expected_bytes();
  const ssize_t got = recv(socket(), heard_.data() + heard_bytes_, expected - heard_bytes_, MSG_DONTWAIT);
  if (got <= 0) return unless_it_may_come(got);
  heard_bytes_ += static_cast<std::size_t>(got);
  if (heard_bytes_ < expected) return Progress::waiting;
  heard_bytes_ = 0;
  const Handshake::Message answer = handshake_.take(std::span(heard_).first(expected));
  const ssize_t sent = send(socket(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(answer.size()) ? Progress::complete : Progress::refused;
}

/// One byte and one descriptor: there is room for no more, and the kernel closes what has none.
Arrival::Progress Arrival::receive_memory() {
  char byte = 0;
  iovec part{&byte, sizeof byte};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));  // CMSG_SPACE would have room for two
  const ssize_t got = recvmsg(socket(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got <= 0) return unless_it_may_come(got);
  const cmsghdr* const item = CMSG_FIRSTHDR(&message);
  if (!item || item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) return Progress::refused;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(item), sizeof descriptor);
  visitor_.memory = FileDescriptor(descriptor);
  return (message.msg_flags & MSG_CTRUNC) == 0 ? Progress::complete : Progress::refused;
}

}  // namespace tenax::comm
