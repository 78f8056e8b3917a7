#include "comm/transport/incoming_handshake.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace tenax::comm {
namespace {

IncomingHandshake::Progress unless_it_may_come(ssize_t got) {
  const bool may_come = got < 0 && (errno == EAGAIN || errno == EINTR);
  return may_come ? IncomingHandshake::Progress::waiting : IncomingHandshake::Progress::refused;
}

}  // namespace

IncomingHandshake::Progress IncomingHandshake::advance() {
  while (!handshake_.is_over())
    if (const Progress progress = receive_message(); progress != Progress::complete) return progress;
  if (!handshake_.is_proven()) return Progress::refused;
  peer_.request = handshake_.request();
  return expects_ == Expects::memory ? receive_memory() : Progress::complete;
}

/// One message. recv, unlike recvmsg, lets no descriptor in: the kernel closes what came along.
IncomingHandshake::Progress IncomingHandshake::receive_message() {
  const std::size_t expected = handshake_.expected_bytes();
  const ssize_t got =
      recv(socket(), received_.data() + received_bytes_, expected - received_bytes_, MSG_DONTWAIT);
  if (got <= 0) return unless_it_may_come(got);
  received_bytes_ += static_cast<std::size_t>(got);
  if (received_bytes_ < expected) return Progress::waiting;
  received_bytes_ = 0;
  const Handshake::Message answer = handshake_.take(std::span(received_).first(expected));
  const ssize_t sent = send(socket(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(answer.size()) ? Progress::complete : Progress::refused;
}

/// One byte and one descriptor: there is room for no more, and the kernel closes what has none.
IncomingHandshake::Progress IncomingHandshake::receive_memory() {
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
  peer_.memory = FileDescriptor(descriptor);
  return (message.msg_flags & MSG_CTRUNC) == 0 ? Progress::complete : Progress::refused;
}

}  // namespace tenax::comm
