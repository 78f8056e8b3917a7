// VerbsConnection: a connection of two queue pairs, one for each direction, each with a completion
// queue. While nobody sends, the receiving thread looks after the sending queue pair.
#pragma once

#include "comm/verbs/incoming_ring.hpp"
#include "comm/verbs/outgoing_ring.hpp"
#include "comm/verbs/path_book.hpp"
#include "comm/verbs/verbs_stream.hpp"
#include "comm/worker.hpp"

namespace tenax::comm::verbs {

/// What one end tells the other of its queue pairs and its ring.
struct EndAddress {
  QueuePairAddress outgoing, incoming;
  RemoteMemory ring, answers;
  std::string text() const;  ///< one line
  /// Nothing where it is no end's.
  static std::optional<EndAddress> parse(std::string_view text);
};

/// Where it runs, and how.
struct VerbsPath {
  Port here;
  PortAddress there;
  RingSize ring_here, ring_there;
  PathSettings settings;
};

/// Why it breaks is told to the other end and to the book: when one of its threads meets the failure,
/// when the other end says so, or when the book has it leave its path.
class VerbsConnection final : public Connection, public PathUser {
 public:
  /// `address`: what address() says. `reaper` destroys the queue pairs of a connection that has broken: that may
  /// take seconds while messages are on their way, and nobody waits for it. Throws Error(link), and Error(rank)
  /// where memory cannot be registered.
  VerbsConnection(VerbsPath path, std::string address, std::shared_ptr<MemoryTable> memory,
                  std::shared_ptr<PathBook> book, PathSeat seat, std::shared_ptr<Worker> reaper);
  /// From then on nothing is written into its user's memory, or read from there.
  ~VerbsConnection() override;

  EndAddress end() const;
  /// Both ports with the addresses that packets have on the way: "mlx5_0:1 ::ffff:10.0.0.5, mlx5_1:1 ::ffff:10.0.0.6".
  std::string gids() const;
  /// Of the largest packets that both ports allow; what lies between them may not.
  std::size_t packet_bytes() const;
  /// Once; before that nothing can be sent. Throws Error(link).
  void open(const EndAddress& other);
  /// The handshake's socket (peer_socket.hpp). From its next message on the book knows the connection.
  void attach(FileDescriptor socket);

  void send(const MessageHeader& header, std::span<const std::byte> payload,
            kernels::Deadline deadline) override;
  /// Waits until all that was sent is in the other end's memory; false when the deadline came first.
  /// Throws as send() does. The sending thread's.
  bool finish(kernels::Deadline deadline);
  std::optional<MessageHeader> receive(kernels::Deadline deadline) override;
  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline) override;
  void offer(std::uint64_t least_bytes) override;
  std::uint64_t uncopied_bytes() const override {
    return ends_->outgoing.uncopied_bytes() + ends_->incoming.uncopied_bytes();
  }
  bool can_read(std::span<const std::byte> memory) const override {
    return ends_->memory->find(path_.here.device, memory).has_value();
  }
  void check() const override;
  PolledStream* stream() override { return &ends_->stream; }
  void shut_down() noexcept override;
  const std::string& address() const override { return address_; }
  std::string describe() const override { return ends_->peer.where(); }
  std::string way() const override { return ends_->peer.where(); }
  std::string break_reason() const override;
  bool has_lost_its_way() const override;
  BetterWay better_way() const override { return book_->better_way(*this); }

  void demand_better() override { demands_better_ = true; }

  const Path& path() const override { return names_; }
  const PathSeat& seat() const override { return seat_; }
  bool demands_better() const override { return demands_better_ && is_whole(); }
  void leave(BreakReason reason) noexcept override;
  void tell(const PeerNotice& notice) noexcept override { ends_->peer.tell(notice); }

 private:
  /// Both queue pairs, and what refers to them.
  struct Ends {
    Ends(const VerbsPath& path, std::shared_ptr<MemoryTable> table, VerbsConnection& connection);
    const std::shared_ptr<MemoryTable> memory;
    BreakNote note;
    PeerSocket peer;
    OutgoingRing outgoing;
    IncomingRing incoming;
    VerbsStream stream;
  };

  bool is_whole() const { return !ends_->note.get() && !ends_->peer.is_shut_down(); }
  template <class Work>
  auto reporting(Work work);
  void begin();
  void report() noexcept;
  void fail_stream() noexcept;
  void hear(const PeerNotice& notice);
  void break_off() noexcept;

  const VerbsPath path_;
  const Path names_;
  const std::string address_;
  const std::shared_ptr<PathBook> book_;
  const PathSeat seat_;
  const std::shared_ptr<Worker> reaper_;
  std::unique_ptr<Ends> ends_;
  std::atomic<bool> is_attached_{false}, is_reported_{false}, demands_better_{false};
  std::once_flag begun_;
};

}  // namespace tenax::comm::verbs
