// Connection: an ordered, two-way stream of messages to one peer outside MPI. Threads of their own
// make blocking calls on it. Transport: makes connections.
//
// Delegates and the emulated device's direct links run over connections. Fault injection wraps
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/link.hpp"
#include "kernels/deadline.hpp"

namespace tenax::comm {

/// Travels before each message's payload.
struct MessageHeader {
  std::int32_t kind = 0;            ///< numbered by the connection's users: data, acknowledgement, …
  Tag tag = 0;                      ///< the message's, on its link
  std::uint64_t number = 0;         ///< counts messages of this tag on this link, from 0
  std::uint64_t sequence = 0;       ///< counts this connection's messages, for retransmission
  std::uint64_t bytes = 0;          ///< the tensor's size
  std::uint64_t payload_bytes = 0;  ///< that follow: `bytes`, or 0 where the device has no data
  double started_s = 0;             ///< when its transmission began, sender's steady clock
  /// Delegated links: SharedBufferId::code of the buffer that holds the payload; 0 = the payload follows.
  std::uint64_t shared_buffer = 0;
  /// Emulated device: the message was put on the wire so much later than it counts as sent.
  double late_s = 0;
};

class PolledStream;
class SharedMemoryArea;

/// Whether a connection to the same address would go another, better way than the present one.
enum class BetterWay {
  none,
  later,  ///< there is one, but it does not work now, or is left alone for a while
  now     ///< it is worth an attempt
};

/// Thread rule: one thread sends while another receives; shut_down(), check() and area() from any
/// thread.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Blocks until the message is handed to the network (or, delayed by injection, until it would
  /// be). Throws Error(link) when the connection is broken or the deadline expires. After that the
  /// connection is unusable.
  virtual void send(const MessageHeader& header, std::span<const std::byte> payload,
                    kernels::Deadline deadline) = 0;
  /// The next message's header; nothing if the deadline came first, and the connection stays
  /// usable. Throws Error(link) when it is broken or was shut down.
  virtual std::optional<MessageHeader> receive(kernels::Deadline deadline) = 0;
  /// After receive(): exactly header.payload_bytes.
  virtual void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) = 0;
  /// From now on the other end writes payloads of at least `least_bytes` (0: none) straight into the memory that
  /// receive_payload() is given, where that is registered (Transport::register_memory) as the payload's own memory is.
  /// Such a payload is not on its way before receive_payload() waits for it, and once that has returned or thrown nothing
  /// of it lands any more. By default, and where a connection cannot do so: nothing. The receiving thread's.
  virtual void offer(std::uint64_t least_bytes) { static_cast<void>(least_bytes); }
  /// Bytes of payloads so far that no processor of this end has copied: its network card read or wrote them where they
  /// lie. Any thread.
  virtual std::uint64_t uncopied_bytes() const { return 0; }
  /// Whether this end can send payloads from `memory` of a device that the host cannot read
  /// (Transport::register_device_memory). Any thread.
  virtual bool can_read(std::span<const std::byte> memory) const {
    static_cast<void>(memory);
    return false;
  }
  /// The other end has the first `messages` messages (MessageHeader::sequence) of those sent for the connection's purpose,
  /// as it has said on this connection or on another one. By default nobody wants to know. Any thread.
  virtual void note_delivered(std::uint64_t messages) { static_cast<void>(messages); }
  /// Throws as receive() would, where a broken connection is known at once. For a thread that waits
  /// for the peer in another way.
  virtual void check() const {}
  /// Memory that both ends can map; null on connections between hosts. It outlives the connection.
  virtual std::shared_ptr<SharedMemoryArea> area() { return nullptr; }
  /// The connection as a stream of bytes, instead of messages; null where it cannot be used so. It
  /// lives as long as the connection.
  virtual PolledStream* stream() { return nullptr; }
  /// Wakes calls blocked on either end, which then throw.
  virtual void shut_down() noexcept = 0;
  /// The remote address that connect() was given (at the accepting end: the one it was accepted
  /// on).
  virtual const std::string& address() const = 0;
  virtual std::string describe() const = 0;  ///< "tcp 10.0.0.1:4000 - 10.0.0.2:3000", for errors
  /// How its messages travel, as events say it: the kind of its address, "tcp", and for RDMA the
  /// ports too.
  virtual std::string way() const { return address().substr(0, address().find(':')); }
  /// Of a broken connection: the word of the event `reroute` for it, "port_down", …; empty where nothing
  /// is known.
  virtual std::string break_reason() const { return {}; }
  /// Of a broken connection: its way failed, or its other end has made another one in its place. The process at
  /// the other end may live, and be reached by another connection.
  virtual bool has_lost_its_way() const { return false; }
  /// Of an open connection.
  virtual BetterWay better_way() const { return BetterWay::none; }
  /// The next connection that this end makes for the same purpose goes a better way, or is refused.
  virtual void demand_better() {}
};

/// A rank as others reach it. Its addresses are tried in their order. Each ends in the random
/// identity of its rank's transport, which unmasks another rank that answers there.
struct Peer {
  int rank = 0;
  std::string name;                    ///< "rank 2 (hostB)"
  std::vector<std::string> addresses;  ///< "shm:<random>#<identity>", "tcp:10.0.0.5:41234#<identity>"
  int replica = -1;                    ///< of a rank of another replica; −1: of this one's
};

/// While it lives, a transport's network cards may read and write some memory.
class MemoryRegistration {
 public:
  virtual ~MemoryRegistration() = default;
};

/// Makes connections of one or more kinds. Thread rule: any thread.
class Transport {
 public:
  virtual ~Transport() = default;
  /// This rank's own addresses, to be told to peers.
  virtual std::vector<std::string> addresses() const = 0;
  /// Connects to one of peer.addresses. accept() at the other end names the same `purpose`: at most
  /// 200 bytes, unique among the open connections between the two ranks. Throws Error(link).
  virtual std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                              const std::string& purpose, kernels::Deadline deadline) = 0;
  /// Waits for the connection that `peer` makes for `purpose`. If there are several, it returns the
  /// newest. Throws Error(link) on expiry.
  virtual std::unique_ptr<Connection> accept(const Peer& peer, const std::string& purpose,
                                             kernels::Deadline deadline) = 0;
  /// Registers memory that connections are going to send from or receive into; once for all of its
  /// life, as it costs much more than a message. `memory` must outlive the registration. Null:
  /// there is nothing to do (TCP, shared memory).
  virtual std::unique_ptr<MemoryRegistration> register_memory(std::span<std::byte> memory) {
    static_cast<void>(memory);
    return nullptr;
  }
  /// The same for memory of a device that the host cannot read, to send from. `dma_buf`: a descriptor of it,
  /// from its first byte on (kernels::Device::export_memory), which stays the caller's. Connections say what
  /// they can do with it (Connection::can_read). Null: none of this transport's can.
  virtual std::unique_ptr<MemoryRegistration> register_device_memory(std::span<std::byte> memory,
                                                                     int dma_buf) {
    static_cast<void>(memory);
    static_cast<void>(dma_buf);
    return nullptr;
  }
};

}  // namespace tenax::comm
