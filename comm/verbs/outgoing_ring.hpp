// OutgoingRing: the sending half of a connection. It writes frames into the ring at the other end.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <type_traits>

#include "comm/verbs/frame.hpp"
#include "comm/verbs/memory_table.hpp"
#include "comm/verbs/ring_wait.hpp"

namespace tenax::comm::verbs {

/// What is under way when a send has returned may fail while nobody sends: then the receiving thread
/// looks after it (RingWatch). Or it is a stream's half, which one thread polls; then that sees to it.
///
/// Thread rule: one thread; queue_pair().break_off() from any, the RingWatch's calls from one other.
class OutgoingRing final : public RingWatch {
 public:
  /// `memory` and `peer` must outlive it. Throws Error(link), and Error(rank) where no memory can be
  /// registered for a ring of `size`.
  OutgoingRing(const Port& port, RingSize size, MemoryTable& memory, PeerSocket& peer, BreakNote& note,
               double silence_s);

  QueuePair& queue_pair() { return queue_pair_; }
  const QueuePair& queue_pair() const { return queue_pair_; }
  /// The queue pair is connected, and the other end's ring of `size` lies there.
  void open(RemoteMemory ring) { ring_ = ring; }
  /// Where the other end writes its answers (OfferedMemory).
  RemoteMemory answers() const;
  /// The other end offers memory for registered payloads of at least so many bytes (0: for none). Any thread.
  void expect_offers(std::uint64_t least_bytes) { least_offered_ = least_bytes; }

  /// Returns when the payload may change: it has been copied, or, where it is registered, has been
  /// acknowledged. Throws Error(link) when the connection is broken or the deadline comes; nothing
  /// reads the payload then, and nothing can be sent any more.
  void send(const MessageHeader& header, std::span<const std::byte> payload, kernels::Deadline deadline);
  /// As PolledStream's, without a look at the other end. Throws as send() does.
  std::size_t write_some(std::span<const std::byte> head, std::span<const std::byte> tail);
  /// Throws as send() does where the connection is known to be broken.
  void check_known();
  /// The queue pair's channel is going to tell of failures (and, where it `wants_room`, of that). False: there is
  /// something to do now.
  bool may_sleep(bool wants_room);
  /// Waits until all that was sent is in the other end's memory; false when the deadline came first.
  bool finish(kernels::Deadline deadline);
  /// False too where the connection is broken.
  bool finish_quietly(kernels::Deadline deadline) noexcept;
  /// Nothing is sent any more, or read from memory that is being sent.
  void give_up() noexcept;
  std::uint64_t frames() const { return frames_sent_; }
  /// Of payloads that send() had the device read where they lie. Any thread.
  std::uint64_t uncopied_bytes() const { return uncopied_bytes_; }

  kernels::Deadline look() override;
  std::array<int, 2> channels() const override;

 private:
  template <class Work>
  std::invoke_result_t<Work> or_break(Work work);
  bool wait_for_all(kernels::Deadline deadline);
  void leave_to_watch();
  void wake_watch();
  bool is_offered(std::size_t bytes);
  void send_frames(std::span<const std::byte> head, std::span<const std::byte> payload,
                   const std::optional<MemoryTable::Use>& use, kernels::Deadline deadline);
  void send_as_answered(std::span<const std::byte> head, std::span<const std::byte> payload,
                        const std::optional<MemoryTable::Use>& use, kernels::Deadline deadline);
  void write_there(OfferedMemory there, std::span<const std::byte> payload, const MemoryTable::Use& use,
                   kernels::Deadline deadline);
  OfferedMemory wait_for_answer(std::size_t bytes, kernels::Deadline deadline);
  std::size_t post_piece(std::span<const std::byte> head, std::span<const std::byte> tail);
  void post(std::span<const std::byte> head, std::span<const std::byte> piece,
            const std::optional<MemoryTable::Use>& use, bool begins_message);
  void post_frame(std::span<const ibv_sge> parts, RemoteMemory to, FrameMark mark, bool is_staged);
  std::size_t wait_for_room(kernels::Deadline deadline);
  std::size_t room() const;
  void take_completions();
  void take_credit(Credit credit);
  void take_answer(std::uint32_t bytes);

  MemoryTable& table_;
  PeerSocket& peer_;
  const RingSize size_;
  RegisteredBuffer answers_;  // the other end writes one at its beginning
  RegisteredBuffer staging_;  // what lies at a place of the ring leaves from the same place here
  /// A frame that is not acknowledged yet.
  struct UnderWay {
    std::uint64_t end;  // where it ends
    std::optional<MemoryTable::Use> use =
        {};  // of the memory that it is read from, if no sender waits for it
  };
  std::deque<UnderWay> under_way_;  // ends after the queue pair, which may be reading
  QueuePair queue_pair_;
  RingWait wait_;
  RemoteMemory ring_;
  // Positions count bytes from the connection's beginning; the place in the ring is the remainder.
  std::uint64_t position_ = 0, taken_ = 0, acknowledged_ = 0;
  std::uint64_t frames_sent_ = 0, frames_taken_ = 0;
  bool is_broken_ = false;
  bool is_asking_ = false;  // a header has been sent whose payload waits for an answer, and
  OfferedMemory answer_;    // when it has come, this
  std::atomic<std::uint64_t> least_offered_{0}, uncopied_bytes_{0};
  std::mutex mutex_;         // held while a thread uses all above
  bool is_watched_ = false;  // the other thread's: its last look found nobody sending
  // The other thread rests while nothing is sent, until somebody sends and wakes it by the eventfd.
  FileDescriptor wake_;
  bool watch_rests_ = false;
  std::uint64_t frames_looked_at_ = 0;  // that had been sent by the last look
  const double silence_s_;
};

}  // namespace tenax::comm::verbs
