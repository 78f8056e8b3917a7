// InjectedPeerTransport: a transport whose connections to other replicas are as slow, or as dark, as
// PeerFaults say.
#pragma once

#include <memory>
#include <string>

#include "comm/forwarding_transport.hpp"
#include "resilience/faults/peer_faults.hpp"

namespace tenax::resilience {

class InjectedPeerTransport final : public comm::ForwardingTransport {
 public:
  /// `faults` must outlive it and its connections.
  InjectedPeerTransport(std::unique_ptr<comm::Transport> inner, const PeerFaults& faults)
      : ForwardingTransport(std::move(inner)), faults_(faults) {}

  // In the dark, deadlines come.
  std::unique_ptr<comm::Connection> connect(const comm::Peer& peer, const std::string& address,
                                            const std::string& purpose, kernels::Deadline deadline) override;
  std::unique_ptr<comm::Connection> accept(const comm::Peer& peer, const std::string& purpose,
                                           kernels::Deadline deadline) override;

 private:
  bool spares(const comm::Peer& peer) const;
  void wait_for_light(const comm::Peer& peer, const std::string& purpose, kernels::Deadline deadline) const;
  std::unique_ptr<comm::Connection> wrap(std::unique_ptr<comm::Connection> connection, const comm::Peer& peer,
                                         const std::string& purpose) override;

  const PeerFaults& faults_;
};

}  // namespace tenax::resilience
