#include "comm/messages/message_socket.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "comm/transport/tcp_socket.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64}
                                   << 10;  // at once: one peer's flood leaves room for the others

bool may_come(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

MessageSocket::MessageSocket(FileDescriptor socket, double silence_s, bool is_patient)
    : socket_(std::move(socket)), name_(describe_tcp_socket(socket_.get())) {
  is_patient ? set_patient_tcp_options(socket_.get(), silence_s) : set_tcp_options(socket_.get(), silence_s);
}

void MessageSocket::send(std::string_view text) {
  const bool waits = has_unsent();
  append_frame(unsent_, text);
  if (!waits) flush();
  if (unsent_.size() > kMostUnsentBytes)
    throw_link_error(name_, "the other end reads nothing; " + std::to_string(unsent_.size()) +
                                " bytes of messages wait for it");
}

void MessageSocket::flush() {
  while (has_unsent()) {
    const ssize_t sent = ::send(descriptor(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && may_come(errno)) return;
    if (sent < 0) throw_link_error(name_, "the connection is lost", errno);
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

void MessageSocket::read(std::vector<std::string>& messages) {
  std::array<char, kReadBytes> bytes;
  const ssize_t got = recv(descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && may_come(errno)) return;
  if (got == 0) throw_link_error(name_, "the other end has closed the connection");
  if (got < 0) throw_link_error(name_, "the connection is lost", errno);
  frames_.add({bytes.data(), static_cast<std::size_t>(got)});
  try {
    while (auto text = frames_.next()) messages.push_back(std::move(*text));
  } catch (const kernels::Error& error) {
    throw_link_error(name_, error.what());
  }
}

void MessageSocket::finish() noexcept { shutdown(descriptor(), SHUT_WR); }

}  // namespace tenax::comm
