// InjectedPeerTransport: a transport whose connections to other replicas are as slow, or as dark, as
// PeerFaults say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/connection.hpp"
#include "resilience/faults/peer_faults.hpp"

namespace tenax::resilience {

class InjectedPeerTransport final : public comm::Transport {
 public:
  /// `faults` must outlive it and its connections.
  InjectedPeerTransport(std::unique_ptr<comm::Transport> inner, const PeerFaults& faults)
      : inner_(std::move(inner)), faults_(faults) {}

  std::vector<std::string> addresses() const override { return inner_->addresses(); }
  // In the dark, deadlines come.
  std::unique_ptr<comm::Connection> connect(const comm::Peer& peer, const std::string& address,
                                            const std::string& purpose, kernels::Deadline deadline) override;
  std::unique_ptr<comm::Connection> accept(const comm::Peer& peer, const std::string& purpose,
                                           kernels::Deadline deadline) override;
  std::unique_ptr<comm::MemoryRegistration> register_memory(std::span<std::byte> memory) override {
    return inner_->register_memory(memory);
  }

 private:
  bool spares(const comm::Peer& peer) const;
  void wait_for_light(const comm::Peer& peer, const std::string& purpose, kernels::Deadline deadline) const;
  std::unique_ptr<comm::Connection> wrap(std::unique_ptr<comm::Connection> connection,
                                         const comm::Peer& peer) const;

  const std::unique_ptr<comm::Transport> inner_;
  const PeerFaults& faults_;
};

}  // namespace tenax::resilience
