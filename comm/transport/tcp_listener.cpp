#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "comm/failure.hpp"
#include "comm/transport/acceptor.hpp"
#include "comm/transport/connections.hpp"
#include "comm/transport/listener.hpp"
#include "comm/transport/listening_interfaces.hpp"
#include "comm/transport/outgoing_handshake.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Error;
using kernels::Scope;

constexpr const char* kPrefix = "tcp:";
constexpr int kBacklog = 256;
constexpr std::size_t kMostHandshakes = 16;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress resolve(const std::string& host, const std::string& port) {
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

/// "tcp:10.0.0.5:4000#…" or "tcp:[fd00::2]:4000#…".
SocketAddress parse(const std::string& address) {
  const std::string plain = plain_address(address).substr(std::strlen(kPrefix));
  const std::size_t colon = plain.rfind(':');
  if (colon == std::string::npos) throw_link_error(address, "not an address of the form tcp:HOST:PORT");
  std::string host = plain.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return resolve(host, plain.substr(colon + 1));
}

std::string port_of(int socket) {
  SocketAddress own;
  own.bytes = sizeof own.storage;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own.storage), &own.bytes) != 0) return "0";
  const auto port = own.storage.ss_family == AF_INET
                        ? reinterpret_cast<const sockaddr_in&>(own.storage).sin_port
                        : reinterpret_cast<const sockaddr_in6&>(own.storage).sin6_port;
  return std::to_string(ntohs(port));
}

/// An empty socket where the address cannot be listened on (an IPv6 address may still be tentative).
ListeningSocket listen_on(const NetworkAddress& own, Identity me) {
  const SocketAddress address = resolve(own.text, "0");
  const int family = own.is_ipv6 ? AF_INET6 : AF_INET;
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket || bind(socket.get(), address.get(), address.bytes) != 0 || listen(socket.get(), kBacklog) != 0)
    return {};
  const std::string host = own.is_ipv6 ? "[" + own.text + "]" : own.text;
  std::string name = kPrefix + host + ":" + port_of(socket.get()) + me.suffix();
  return {std::move(socket), std::move(name)};
}

std::vector<ListeningSocket> listen_on_all(const std::vector<std::string>& interfaces, Identity me) {
  std::vector<ListeningSocket> sockets;
  int reason = 0;
  for (const NetworkAddress& own : network_addresses(interfaces)) {
    ListeningSocket socket = listen_on(own, me);
    if (!socket.socket) reason = errno;
    if (socket.socket) sockets.push_back(std::move(socket));
  }
  if (sockets.empty())
    throw Error(Scope::rank,
                "no network address of " + this_host() + " can be listened on (" +
                    (reason == 0 ? "no interface is up" : std::generic_category().message(reason)) +
                    "); bring an interface up or use comm.transport = \"shm\"");
  return sockets;
}

class TcpListener final : public Listener {
 public:
  TcpListener(const TransportOptions& options, Identity me, PendingConnections& pending)
      : secret_(options.secret),
        silence_s_(std::clamp(options.deadline_s / 4, 1.0, 5.0)),
        acceptor_(listen_on_all(options.interfaces, me),
                  {secret_, me, IncomingHandshake::Expects::nothing, kMostHandshakes,
                   [silence_s = silence_s_](AuthenticatedSocket peer) {
                     return create_tcp_connection(std::move(peer.socket), peer.address, silence_s);
                   }},
                  pending) {}

  std::vector<std::string> addresses() const override {
    std::vector<std::string> all;
    for (const ListeningSocket& socket : acceptor_.sockets()) all.push_back(socket.address);
    return all;
  }
  bool can_reach(const std::string& address) const override { return address.rfind(kPrefix, 0) == 0; }

  std::unique_ptr<Connection> connect(const std::string& address, const ConnectionRequest& request,
                                      kernels::Deadline deadline) override {
    const SocketAddress there = parse(address);
    const std::string where = plain_address(address);
    const auto call = [&] { return connect_to(there, where, deadline); };
    return create_tcp_connection(connect_and_prove({secret_, request, where, deadline}, call), address,
                                 silence_s_);
  }

 private:
  static FileDescriptor connect_to(const SocketAddress& there, const std::string& where,
                                   kernels::Deadline deadline) {
    FileDescriptor socket(::socket(there.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) throw_link_error(where, "no socket", errno);
    if (::connect(socket.get(), there.get(), there.bytes) != 0 && errno != EINPROGRESS)
      throw_link_error(where, "cannot connect", errno);
    if (!wait_for_socket(socket.get(), POLLOUT, deadline)) throw_link_error(where, "nobody answers there");
    int error = 0;
    socklen_t bytes = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) throw_link_error(where, "cannot connect", error);
    return socket;
  }

  JobSecret secret_;
  double silence_s_;
  Acceptor acceptor_;
};

}  // namespace

std::unique_ptr<Listener> create_tcp_listener(const TransportOptions& options, Identity me,
                                              PendingConnections& pending) {
  return std::make_unique<TcpListener>(options, me, pending);
}

}  // namespace tenax::comm
