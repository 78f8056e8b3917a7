// Sockets of somebody who is no rank, for tests.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "comm/transport/connection_request.hpp"
#include "comm/transport/handshake.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Of "tcp:127.0.0.1:PORT#…".
inline sockaddr_in loopback_address(int port) {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(port));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return there;
}

inline int port_of(const std::string& address) {
  const std::string plain = plain_address(address);
  return std::stoi(plain.substr(plain.rfind(':') + 1));
}

/// An abstract name as an address; its length.
inline socklen_t unix_address(const std::string& name, sockaddr_un& there) {
  there = {};
  there.sun_family = AF_UNIX;
  std::memcpy(there.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

inline FileDescriptor connect_to_loopback(int port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in there = loopback_address(port);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) return {};
  return socket;
}

/// Of "shm:NAME#…".
inline std::string name_of(const std::string& address) { return plain_address(address).substr(4); }

inline FileDescriptor connect_to_name(const std::string& name) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un there;
  const socklen_t bytes = unix_address(name, there);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), bytes) != 0) return {};
  return socket;
}

inline void say(const FileDescriptor& socket, std::span<const std::byte> bytes) {
  static_cast<void>(!send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

/// All that is said until the other end closes.
inline std::vector<std::byte> hear_to_the_end(const FileDescriptor& socket) {
  std::vector<std::byte> heard;
  std::byte byte{};
  while (recv(socket.get(), &byte, 1, 0) == 1) heard.push_back(byte);
  return heard;
}

/// The connecting end's part of a handshake; whether both ends are proven.
inline bool prove(const FileDescriptor& socket, Handshake handshake) {
  say(socket, handshake.start());
  while (!handshake.is_over()) {
    Handshake::Message message(handshake.expected_bytes());
    const ssize_t got = recv(socket.get(), message.data(), message.size(), MSG_WAITALL);
    if (got != static_cast<ssize_t>(message.size())) return false;
    say(socket, handshake.take(message));
  }
  return handshake.is_proven();
}

/// One byte, and descriptors of this process along with it.
inline void say_with_descriptors(const FileDescriptor& socket, const std::vector<int>& descriptors) {
  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
  cmsghdr* const item = CMSG_FIRSTHDR(&message);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::memcpy(CMSG_DATA(item), descriptors.data(), descriptors.size() * sizeof(int));
  static_cast<void>(!sendmsg(socket.get(), &message, MSG_NOSIGNAL));
}

}  // namespace tenax::comm
