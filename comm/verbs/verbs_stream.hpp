// VerbsStream: a connection over RDMA as a stream of bytes. They travel in frames that begin no message.
#pragma once

#include <functional>

#include "comm/polled_stream.hpp"
#include "comm/verbs/incoming_ring.hpp"
#include "comm/verbs/outgoing_ring.hpp"

namespace tenax::comm::verbs {

/// Thread rule: one thread.
class VerbsStream final : public PolledStream {
 public:
  /// The connection's, which all outlive it.
  struct Parts {
    OutgoingRing& outgoing;
    IncomingRing& incoming;
    PeerSocket& peer;
    std::function<void()> begin;  ///< called before its first bytes; later calls do nothing
    std::function<void()> fail;   ///< called once it is broken: breaks both queue pairs, and tells why
  };
  explicit VerbsStream(Parts parts) : parts_(std::move(parts)) {}

  std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail) override;
  std::size_t read_some(std::span<std::byte> bytes) override;
  std::span<const std::byte> peek() override;
  void take(std::size_t bytes) override { parts_.incoming.take(bytes); }
  int socket() const override { return parts_.peer.socket(); }
  bool prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) override;
  void finish() override;

 private:
  template <class Work>
  auto or_fail(Work work);

  const Parts parts_;
};

}  // namespace tenax::comm::verbs
