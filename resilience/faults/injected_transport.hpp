// InjectedTransport: a transport whose connections are as slow, or as dead, as LinkFaults say.
#pragma once

#include <memory>
#include <string>

#include "comm/forwarding_transport.hpp"
#include "resilience/faults/injected_connection.hpp"

namespace tenax::resilience {

class InjectedTransport final : public comm::ForwardingTransport {
 public:
  /// `rank`: this world rank. `faults` and `registry` must outlive it and its connections.
  InjectedTransport(std::unique_ptr<comm::Transport> inner, int rank, LinkFaults& faults,
                    ConnectionRegistry& registry)
      : ForwardingTransport(std::move(inner)), rank_(rank), faults_(faults), registry_(registry) {}

  /// Fails at once while the way is down.
  std::unique_ptr<comm::Connection> connect(const comm::Peer& peer, const std::string& address,
                                            const std::string& purpose, kernels::Deadline deadline) override;
  /// Leaves out connections whose way is down; fails at once where no way is left.
  std::unique_ptr<comm::Connection> accept(const comm::Peer& peer, const std::string& purpose,
                                           kernels::Deadline deadline) override;

 private:
  bool spares(const comm::Peer& peer, const std::string& purpose) const;
  void throw_if_down(const comm::Peer& peer, LinkFaults::Way way, const std::string& purpose) const;
  std::unique_ptr<InjectedConnection> inject(std::unique_ptr<comm::Connection> connection,
                                             const comm::Peer& peer, const std::string& purpose) const;

  const int rank_;
  LinkFaults& faults_;
  ConnectionRegistry& registry_;
};

}  // namespace tenax::resilience
