#include <algorithm>

#include "comm/transport/acceptor.hpp"
#include "comm/transport/connections.hpp"
#include "comm/transport/listener.hpp"
#include "comm/transport/outgoing_handshake.hpp"
#include "comm/transport/tcp_socket.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kMostHandshakes = 16;

class TcpListener final : public Listener {
 public:
  TcpListener(const TransportOptions& options, Identity me, PendingConnections& pending)
      : secret_(options.secret),
        silence_s_(std::clamp(options.deadline_s / 4, 1.0, 5.0)),
        acceptor_(listen_on_interfaces(options.interfaces, me),
                  {secret_, me, IncomingHandshake::Expects::nothing, kMostHandshakes},
                  [silence_s = silence_s_, &pending](AuthenticatedSocket peer) {
                    const auto make = [silence_s](AuthenticatedSocket proven) {
                      return create_tcp_connection(std::move(proven.socket), proven.address, silence_s);
                    };
                    admit(std::move(peer), make, pending);
                  }) {}

  std::vector<std::string> addresses() const override {
    std::vector<std::string> all;
    for (const ListeningSocket& socket : acceptor_.sockets()) all.push_back(socket.address);
    return all;
  }
  bool can_reach(const std::string& address) const override { return address.starts_with(kTcpPrefix); }

  std::unique_ptr<Connection> connect(const std::string& address, const ConnectionRequest& request,
                                      kernels::Deadline deadline) override {
    const std::string where = plain_address(address);
    const auto call = [&] { return connect_tcp(address, deadline); };
    return create_tcp_connection(connect_and_prove({secret_, request, where, deadline}, call), address,
                                 silence_s_);
  }

 private:
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
