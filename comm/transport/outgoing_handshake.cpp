#include "comm/transport/outgoing_handshake.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "comm/transport/handshake.hpp"

namespace tenax::comm {
namespace {

constexpr char kAccepted = 'W';
constexpr auto kPause = std::chrono::milliseconds(20);  // from one attempt to the next

/// False when the other end closes.
bool read_all(int socket, std::span<std::byte> bytes, const OutgoingHandshake& attempt) {
  while (!bytes.empty()) {
    if (!wait_for_socket(socket, POLLIN, attempt.deadline))
      throw_link_error(attempt.where, "the process there does not answer; it may be stopped");
    const ssize_t got = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

/// A new socket has room for it.
bool write_all(int socket, std::span<const std::byte> bytes) {
  return bytes.empty() || send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                              static_cast<ssize_t>(bytes.size());
}

/// False when the other end closes without having refused.
bool run_handshake(int socket, Handshake& handshake, const OutgoingHandshake& attempt) {
  if (!write_all(socket, handshake.start())) return false;
  while (!handshake.is_over()) {
    std::vector<std::byte> message(handshake.expected_bytes());
    if (!read_all(socket, message, attempt)) return false;
    if (!write_all(socket, handshake.take(message))) return false;
  }
  if (!handshake.is_proven())
    throw_link_error(attempt.where, std::string(kNotOfThisJob) + ", or not the process that was looked for");
  return true;
}

bool is_accepted(int socket, const OutgoingHandshake& attempt) {
  std::byte answer{0};
  return read_all(socket, {&answer, 1}, attempt) && answer == static_cast<std::byte>(kAccepted);
}

}  // namespace

FileDescriptor connect_and_prove(const OutgoingHandshake& attempt,
                                 const std::function<FileDescriptor()>& connect,
                                 const std::function<void(int, const Challenge&)>& agree) {
  for (;;) {
    FileDescriptor socket = connect();
    Handshake handshake(attempt.secret, attempt.request);
    if (run_handshake(socket.get(), handshake, attempt)) {
      if (agree) agree(socket.get(), handshake.challenge());
      if (is_accepted(socket.get(), attempt)) return socket;
    }
    if (attempt.deadline.expired())
      throw_link_error(
          attempt.where,
          "whoever answers there hangs up: the rank looked for has left, or too many connect to it");
    std::this_thread::sleep_for(kPause);
  }
}

void send_accepted(int socket, const std::string& where) {
  if (send(socket, &kAccepted, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
    throw_link_error(where, "a visitor left before it was welcomed", errno);
}

bool is_of_this_user(int socket) {
  int domain = 0;
  socklen_t bytes = sizeof domain;
  if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0) return false;
  if (domain != AF_UNIX) return true;
  ucred other{};
  bytes = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 && other.uid == geteuid();
}

}  // namespace tenax::comm
