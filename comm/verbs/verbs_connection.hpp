// VerbsConnection: a connection of two queue pairs, one for each direction. The sending and the
// receiving thread share neither queue pair, completion queue nor lock.
#pragma once

#include "comm/verbs/incoming_ring.hpp"
#include "comm/verbs/outgoing_ring.hpp"

namespace tenax::comm::verbs {

/// What one end tells the other of its queue pairs and its ring.
struct EndAddress {
  QueuePairAddress outgoing, incoming;
  RemoteMemory ring;
  std::string text() const;  ///< one line
  /// Nothing where it is no end's.
  static std::optional<EndAddress> parse(const std::string& text);
};

/// Where it runs, and how.
struct VerbsPath {
  Port here;
  PortAddress there;
  RingSize ring_here, ring_there;
  PathSettings settings;
};

class VerbsConnection final : public Connection {
 public:
  /// `address`: what address() says. Throws Error(link), and Error(rank) where memory cannot be
  /// registered.
  VerbsConnection(VerbsPath path, std::string address, std::shared_ptr<MemoryTable> memory);
  ~VerbsConnection() override;

  EndAddress end() const;
  /// Once; before that nothing can be sent. Throws Error(link).
  void open(const EndAddress& other);
  /// The handshake's socket (peer_socket.hpp).
  void attach(FileDescriptor socket) { peer_.attach(std::move(socket)); }

  void send(const MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override;
  /// Waits until all that was sent is in the other end's memory; false when the deadline came first.
  /// Throws as send() does. The sending thread's.
  bool finish(kernels::Deadline deadline) { return outgoing_.finish(deadline); }
  std::optional<MessageHeader> receive(kernels::Deadline deadline) override;
  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) override;
  void check() const override;
  void shut_down() noexcept override;
  const std::string& address() const override { return address_; }
  std::string describe() const override { return peer_.where(); }

 private:
  const VerbsPath path_;
  const std::string address_;
  const std::shared_ptr<MemoryTable> memory_;
  mutable PeerSocket peer_;
  OutgoingRing outgoing_;
  IncomingRing incoming_;
  bool is_open_ = false;
};

}  // namespace tenax::comm::verbs
