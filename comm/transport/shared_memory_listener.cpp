// Connections are arranged over Unix sockets in the abstract name space (nothing in a file system that a crash could leave
// behind): once both ends have proven to be of one job, the connecting end makes the memory and sends its descriptor. Two
// processes reach each other so exactly when they are on one host, share its network name space and have one user.
// Everybody on the host sees the sockets' names; they are random and tell nothing.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "comm/failure.hpp"
#include "comm/transport/acceptor.hpp"
#include "comm/transport/connections.hpp"
#include "comm/transport/descriptor_passing.hpp"
#include "comm/transport/listener.hpp"
#include "comm/transport/outgoing_handshake.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr const char* kPrefix = "shm:";
constexpr int kWaitingConnections = 256;
constexpr std::size_t kMostMemoryHandshakes = 8;  // up to two descriptors each
constexpr time_t kPatience_s = 2;

struct UnixAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

/// Abstract: the path begins with a zero byte.
UnixAddress abstract(const std::string& name) {
  UnixAddress result;
  result.address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof result.address.sun_path) throw_link_error(name, "too long for an address");
  std::copy(name.begin(), name.end(), result.address.sun_path + 1);
  result.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return result;
}

std::string name_in(const std::string& address) {
  return plain_address(address).substr(std::strlen(kPrefix));
}

std::string random_name() {
  std::array<std::uint64_t, 2> number{};
  fill_randomly(std::as_writable_bytes(std::span(number)));
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(number[0]),
                static_cast<unsigned long long>(number[1]));
  return text.data();
}

std::vector<ListeningSocket> listen_as(Identity me) {
  const std::string name = random_name();
  const UnixAddress address = abstract(name);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket || bind(socket.get(), address.get(), address.bytes) != 0 ||
      listen(socket.get(), kWaitingConnections) != 0)
    throw kernels::Error(kernels::Scope::rank, "cannot listen for processes of " + this_host() + " (" +
                                                   std::strerror(errno) + "); use comm.transport = \"tcp\"");
  std::vector<ListeningSocket> sockets;
  sockets.push_back({std::move(socket), kPrefix + name + me.suffix()});
  return sockets;
}

FileDescriptor connect_to(const std::string& address) {
  const UnixAddress there = abstract(name_in(address));
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{kPatience_s, 0};  // where the queue of a stopped process is full
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (!socket || ::connect(socket.get(), there.get(), there.bytes) != 0)
    throw_link_error(plain_address(address), "no such process on this host, or it has left", errno);
  if (!is_of_this_user(socket.get()))
    throw_link_error(plain_address(address), "refused: another user's process listens there");
  return socket;
}

class SharedMemoryListener final : public Listener {
 public:
  SharedMemoryListener(const TransportOptions& options, Identity me, PendingConnections& pending)
      : secret_(options.secret),
        acceptor_(
            listen_as(me), {secret_, me, IncomingHandshake::Expects::memory, kMostMemoryHandshakes},
            [&pending](AuthenticatedSocket peer) { admit(std::move(peer), accept_connection, pending); }) {}

  std::vector<std::string> addresses() const override { return {acceptor_.sockets().front().address}; }
  bool can_reach(const std::string& address) const override { return address.rfind(kPrefix, 0) == 0; }

  std::unique_ptr<Connection> connect(const std::string& address, const ConnectionRequest& request,
                                      kernels::Deadline deadline) override {
    const std::string where = plain_address(address);
    FileDescriptor memory;
    FileDescriptor socket = connect_and_prove(
        {secret_, request, where, deadline}, [&] { return connect_to(address); },
        [&](int proven, const Challenge&) {
          memory = create_connection_memory(where);
          send_descriptor(proven, where, memory.get());
        });
    return create_shared_memory_connection(std::move(memory), std::move(socket), address,
                                           ConnectionEnd::connecting);
  }

 private:
  static std::unique_ptr<Connection> accept_connection(AuthenticatedSocket peer) {
    return create_shared_memory_connection(std::move(peer.memory), std::move(peer.socket), peer.address,
                                           ConnectionEnd::accepting);
  }

  JobSecret secret_;
  Acceptor acceptor_;
};

}  // namespace

bool is_reachable_in_shared_memory(const std::string& address) {
  try {
    return static_cast<bool>(connect_to(address));
  } catch (const kernels::Error&) {
    return false;
  }
}

std::unique_ptr<Listener> create_shared_memory_listener(const TransportOptions& options, Identity me,
                                                        PendingConnections& pending) {
  return std::make_unique<SharedMemoryListener>(options, me, pending);
}

}  // namespace tenax::comm
