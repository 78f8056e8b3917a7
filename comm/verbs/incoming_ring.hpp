// IncomingRing: the receiving half of a connection, and the ring that the other end writes into.
#pragma once

#include <atomic>
#include <deque>

#include "comm/verbs/frame.hpp"
#include "comm/verbs/memory_table.hpp"
#include "comm/verbs/ring_wait.hpp"

namespace tenax::comm::verbs {

/// Thread rule: one thread; queue_pair().break_off() from any.
class IncomingRing {
 public:
  /// References must outlive it. `memory`: that payloads may be offered. `watch`: is looked after while this waits. Throws
  /// Error(link), and Error(rank) where no memory can be registered.
  IncomingRing(const Port& port, RingSize size, MemoryTable& memory, PeerSocket& peer, BreakNote& note,
               RingWatch& watch, double silence_s);

  QueuePair& queue_pair() { return queue_pair_; }
  const QueuePair& queue_pair() const { return queue_pair_; }
  RemoteMemory ring() const;  ///< as the other end addresses it
  /// The queue pair is connected, and the other end reads answers there.
  void open(RemoteMemory answers) { answers_ = answers; }

  /// As Connection's.
  std::optional<MessageHeader> receive(kernels::Deadline deadline);
  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline);
  /// Of payloads that were written where they are received. Any thread.
  std::uint64_t uncopied_bytes() const { return uncopied_bytes_; }

  /// As PolledStream's; after take(), others may come. Throws Error(link) where what has come is no part of a stream.
  std::span<const std::byte> peek();
  void take(std::size_t bytes) { take_out(bytes); }
  /// Throws Error(link) where the connection is known to be broken, or no more is going to come.
  void check_known();
  /// The queue pair's channel is going to tell of what comes. False: there is something to do now.
  bool may_sleep();

 private:
  struct Frame {
    std::size_t place = 0, room = 0;  // in the ring
    FrameMark mark;
  };
  bool receive_offered(std::span<std::byte> payload, kernels::Deadline deadline);
  void answer(const OfferedMemory& offered);
  void wait_for_offered(std::size_t bytes, kernels::Deadline deadline);
  const Frame& frame_of_payload(kernels::Deadline deadline);
  bool wait_for_frame(kernels::Deadline deadline);
  void take_completions();
  void add_frame(FrameMark mark, std::uint32_t written);
  void take_out(std::size_t bytes);
  void release_frame();
  void return_credit();
  void wait_for_last_frames();
  [[noreturn]] void refuse_frame();

  MemoryTable& table_;
  PeerSocket& peer_;
  RingWatch& watch_;
  const RingSize size_;
  RegisteredBuffer ring_;
  RegisteredBuffer answer_;  // leaves from its beginning
  QueuePair queue_pair_;     // ends before the memory that the other end writes into
  RingWait wait_;
  RemoteMemory answers_;
  std::deque<Frame> frames_;    // that have come
  std::size_t read_ = 0;        // bytes of the first of them
  std::uint64_t position_ = 0;  // where the next frame begins, counted from the connection's beginning
  std::uint64_t frames_come_ = 0;
  std::size_t occupied_ = 0;       // bytes of the ring
  Credit credit_;                  // to be returned
  std::uint64_t asked_bytes_ = 0;  // of a payload that waits for an answer
  std::atomic<std::uint64_t> uncopied_bytes_{0};
};

}  // namespace tenax::comm::verbs
