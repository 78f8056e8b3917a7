#include "comm/transport/incoming_handshake.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "comm/transport/descriptor_passing.hpp"

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
  peer_.challenge = handshake_.challenge();
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

IncomingHandshake::Progress IncomingHandshake::receive_memory() {
  ReceivedByte received = receive_byte(socket());
  if (received.result <= 0) return unless_it_may_come(received.result);
  peer_.memory = std::move(received.descriptor);
  return peer_.memory ? Progress::complete : Progress::refused;
}

}  // namespace tenax::comm
