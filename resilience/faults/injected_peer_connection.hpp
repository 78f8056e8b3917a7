// InjectedPeerConnection: a connection to a rank of another replica that is as slow, or as dark, as
// PeerFaults say.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "comm/forwarding_connection.hpp"
#include "resilience/faults/injected_peer_stream.hpp"

namespace tenax::resilience {

/// Bytes are held back, at either end, and then go on. It shares no memory with its other end.
class InjectedPeerConnection final : public comm::ForwardingConnection {
 public:
  /// `faults` must outlive it.
  InjectedPeerConnection(std::unique_ptr<comm::Connection> inner, int peer, const PeerFaults& faults)
      : ForwardingConnection(std::move(inner)), peer_(peer), faults_(faults) {}

  void send(const comm::MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override;
  std::optional<comm::MessageHeader> receive(kernels::Deadline deadline) override;
  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) override;
  void check() const override {
    if (!faults_.is_dark(peer_)) inner().check();
  }
  std::shared_ptr<comm::SharedMemoryArea> area() override { return nullptr; }
  comm::PolledStream* stream() override;
  void shut_down() noexcept override;

 private:
  using Clock = PeerFaults::Clock;
  /// False: the deadline came first. Throws where the connection is shut down meanwhile.
  bool waits_until(Clock::time_point when, kernels::Deadline deadline);
  bool waits_for_light(kernels::Deadline deadline) { return waits_until(faults_.light_at(peer_), deadline); }
  void must_wait_until(Clock::time_point when, kernels::Deadline deadline);

  const int peer_;
  const PeerFaults& faults_;
  std::optional<InjectedPeerStream> stream_;
  std::optional<comm::MessageHeader> arrived_;  // before it was dark
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_shut_ = false;
};

}  // namespace tenax::resilience
