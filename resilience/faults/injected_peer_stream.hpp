// InjectedPeerStream: a stream to a rank of another replica that is as slow, or as dark, as
// PeerFaults say.
#pragma once

#include "comm/polled_stream.hpp"
#include "resilience/faults/peer_faults.hpp"

namespace tenax::resilience {

/// What is written in one go, which may take several calls, is a message: the next begins to be held
/// when that has gone. Descriptors do not pass, so that chunks travel as bytes, as over a network.
class InjectedPeerStream final : public comm::PolledStream {
 public:
  /// `inner` and `faults` must outlive it.
  InjectedPeerStream(comm::PolledStream& inner, int peer, const PeerFaults& faults)
      : inner_(inner), peer_(peer), faults_(faults) {}

  std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail) override;
  std::size_t read_some(std::span<std::byte> bytes) override;
  std::span<const std::byte> peek() override;
  void take(std::size_t bytes) override { inner_.take(bytes); }
  int socket() const override { return inner_.socket(); }
  bool prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) override;
  void finish() override { inner_.finish(); }
  double held_until_s() const override;

 private:
  using Clock = PeerFaults::Clock;
  Clock::time_point held_until() const;

  comm::PolledStream& inner_;
  const int peer_;
  const PeerFaults& faults_;
  std::size_t left_ = 0;       // of the message that is being written
  Clock::time_point release_;  // when it may go
};

}  // namespace tenax::resilience
