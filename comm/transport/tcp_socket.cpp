#include "comm/transport/tcp_socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "comm/failure.hpp"
#include "comm/transport/listening_interfaces.hpp"
#include "kernels/error.hpp"
#include "kernels/number_text.hpp"

namespace tenax::comm {
namespace {

constexpr int kBacklog = 1024;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// A number that glibc does not cut to 16 bits.
bool is_port(const std::string& text) { return kernels::number_of<std::uint16_t>(text).has_value(); }

SocketAddress resolve(const std::string& host, const std::string& port) {
  if (!is_port(port)) throw_link_error(host + ":" + port, "no port");
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0)
    throw_link_error(host + ":" + port, std::string("no address: ") + gai_strerror(code));
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.bytes = found->ai_addrlen;
  freeaddrinfo(found);
  return address;
}

SocketAddress parse(const std::string& address) {
  const std::string plain = plain_address(address).substr(std::strlen(kTcpPrefix));
  const std::size_t colon = plain.rfind(':');
  if (colon == std::string::npos) throw_link_error(address, "not an address of the form tcp:HOST:PORT");
  std::string host = plain.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return resolve(host, plain.substr(colon + 1));
}

/// "10.0.0.1:4000"
std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(ipv4.sin_port));
  }
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
  inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
  return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(ipv6.sin6_port));
}

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

/// What getsockname() or getpeername() finds.
std::string name_by(int (*ask)(int, sockaddr*, socklen_t*), int socket) {
  SocketAddress found;
  return ask(socket, found.get(), &found.bytes) == 0 ? text_of(found.storage) : "?";
}

}  // namespace

ListeningSocket listen_at(const std::string& host, const std::string& port, Identity me) {
  const SocketAddress address = resolve(host, port);
  FileDescriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // A given port may be taken again as soon as its listener has gone. Not so while a free one is looked for, which could
  // be found twice then.
  const auto may_be_taken_again = [&] {
    const int yes = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  };
  if (port != "0") may_be_taken_again();
  const bool is_bound = socket && bind(socket.get(), address.get(), address.bytes) == 0;
  if (is_bound) may_be_taken_again();
  if (!is_bound || listen(socket.get(), kBacklog) != 0)
    throw_link_error(host + ":" + port, "cannot listen there", errno);
  std::string name = kTcpPrefix + name_by(getsockname, socket.get()) + me.suffix();
  return {std::move(socket), std::move(name)};
}

std::vector<ListeningSocket> listen_on_interfaces(const std::vector<std::string>& interfaces, Identity me) {
  std::vector<ListeningSocket> sockets;
  std::string reason = "no interface is up";
  for (const NetworkAddress& own : network_addresses(interfaces)) {
    try {
      sockets.push_back(listen_at(own.text, "0", me));
    } catch (const kernels::Error& error) {
      reason = error.what();
    }
  }
  if (sockets.empty())
    throw kernels::Error(kernels::Scope::rank,
                         "no network address of " + this_host() + " can be listened on (" + reason +
                             "); bring an interface up or use comm.transport = \"shm\"");
  return sockets;
}

FileDescriptor connect_tcp(const std::string& address, kernels::Deadline deadline) {
  const SocketAddress there = parse(address);
  const std::string where = plain_address(address);
  FileDescriptor socket(::socket(there.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) throw_link_error(where, "no socket", errno);
  if (connect(socket.get(), there.get(), there.bytes) != 0 && errno != EINPROGRESS)
    throw_link_error(where, "cannot connect", errno);
  if (!wait_for_socket(socket.get(), POLLOUT, deadline)) throw_link_error(where, "nobody answers there");
  int error = 0;
  socklen_t bytes = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) throw_link_error(where, "cannot connect", error);
  return socket;
}

void set_tcp_options(int socket, double silence_s) {
  set_patient_tcp_options(socket, silence_s);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(std::max(1.0, silence_s) * 1000));
}

void set_patient_tcp_options(int socket, double silence_s) {
  keep_tcp_alive(socket, silence_s);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

void keep_tcp_alive(int socket, double silence_s) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, silence_s > 0 ? 1 : 0);
  const int silence = std::max(1, static_cast<int>(silence_s));
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, silence / 2));
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, std::max(2, silence - silence / 2));
}

std::string describe_tcp_socket(int socket) {
  return "tcp " + name_by(getsockname, socket) + " - " + name_by(getpeername, socket);
}

}  // namespace tenax::comm
