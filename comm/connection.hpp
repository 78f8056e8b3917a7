// Connection: an ordered, two-way stream of messages to one peer outside MPI, used with blocking calls by threads of
// their own. Transport: makes connections. Delegates and the emulated device's direct links run over them; fault
// injection wraps them.
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

/// What a message is about; travels before its payload.
struct MessageHeader {
  std::int32_t kind = 0;            ///< the user's (data, acknowledgement, …)
  Tag tag = 0;                      ///< of the link
  std::uint64_t number = 0;         ///< of this tag on this link, from 0
  std::uint64_t sequence = 0;       ///< of this connection's sender, for retransmission
  std::uint64_t bytes = 0;          ///< of the tensor
  std::uint64_t payload_bytes = 0;  ///< that follow: `bytes`, or 0 where the device has no data
  double started_s = 0;             ///< when its transmission began (queueing over), sender's steady clock
  std::uint64_t shared_buffer =
      0;              ///< that the payload is in (delegated links: SharedBufferId::code); 0 = it follows
  double late_s = 0;  ///< by how much later it really began: the sending thread woke late (emulated device)
};

class SharedMemoryArea;

/// Thread rule: one thread sends while another receives; shut_down(), check() and area() from any thread.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Blocks until the message is handed to the network (or, delayed by injection, until it would be). Throws
  /// Error(link) when the connection is broken or the deadline expires; then the connection is unusable.
  virtual void send(const MessageHeader& header, std::span<const std::byte> payload,
                    kernels::Deadline deadline) = 0;
  /// The next message's header; nothing if the deadline came first (the connection stays usable). Throws Error(link)
  /// when it is broken or was shut down.
  virtual std::optional<MessageHeader> receive(kernels::Deadline deadline) = 0;
  /// After receive(): exactly header.payload_bytes.
  virtual void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) = 0;
  /// For who waits for something else of the peer: throws as receive() would, where a broken connection is known at once.
  virtual void check() const {}
  /// Memory that both ends can map; null where they are on different hosts. It outlives the connection.
  virtual std::shared_ptr<SharedMemoryArea> area() { return nullptr; }
  /// Wakes calls blocked on either end, which then throw.
  virtual void shut_down() noexcept = 0;
  /// The remote address that connect() was given (at the accepting end: the one it was accepted on).
  virtual const std::string& address() const = 0;
  virtual std::string describe() const = 0;  ///< "tcp 10.0.0.1:4000 - 10.0.0.2:3000", for errors
};

/// A rank as others reach it: world rank, name for people, and its addresses in the order they should be tried. An
/// address ends in the random identity of its rank's transport, so that another rank that may answer there is found out.
struct Peer {
  int rank = 0;
  std::string name;                    ///< "rank 2 (hostB)"
  std::vector<std::string> addresses;  ///< "shm:<random>#<identity>", "tcp:10.0.0.5:41234#<identity>"
};

/// Makes connections of one or more kinds. Thread rule: any thread.
class Transport {
 public:
  virtual ~Transport() = default;
  /// This rank's own addresses, to be told to peers.
  virtual std::vector<std::string> addresses() const = 0;
  /// Connects to one of peer.addresses. `purpose` (at most 200 bytes, unique among the connections between the two ranks
  /// that are open at a time) is what accept() at the other end asks for. Throws Error(link).
  virtual std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                              const std::string& purpose, kernels::Deadline deadline) = 0;
  /// Waits for the connection that `peer` makes for `purpose`; the newest, if one was made again before it was accepted.
  /// Throws Error(link) on expiry.
  virtual std::unique_ptr<Connection> accept(const Peer& peer, const std::string& purpose,
                                             kernels::Deadline deadline) = 0;
};

}  // namespace tenax::comm
