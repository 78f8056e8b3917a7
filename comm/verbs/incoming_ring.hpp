// IncomingRing: the receiving half of a connection, and the ring that the other end writes into.
#pragma once

#include <deque>

#include "comm/verbs/frame.hpp"
#include "comm/verbs/memory_table.hpp"
#include "comm/verbs/ring_wait.hpp"

namespace tenax::comm::verbs {

/// Thread rule: one thread; queue_pair().break_off() from any.
class IncomingRing {
 public:
  /// References must outlive it. `watch`: is looked after while this waits. Throws Error(link), and Error(rank) where no memory can be registered.
  IncomingRing(const Port& port, RingSize size, PeerSocket& peer, BreakNote& note, RingWatch& watch,
               double silence_s);

  QueuePair& queue_pair() { return queue_pair_; }
  const QueuePair& queue_pair() const { return queue_pair_; }
  RemoteMemory ring() const;  ///< as the other end addresses it

  /// As Connection's.
  std::optional<MessageHeader> receive(kernels::Deadline deadline);
  void receive_payload(std::span<std::byte> payload, kernels::Deadline deadline);

 private:
  struct Frame {
    std::size_t place = 0, bytes = 0;
    bool begins_message = false;
  };
  bool wait_for_frame(kernels::Deadline deadline);
  void take_completions();
  void add_frame(FrameMark mark, std::uint32_t written);
  void take_out(std::size_t bytes);
  void release_frame();
  void return_credit();
  void wait_for_last_frames();
  [[noreturn]] void refuse_frame();

  PeerSocket& peer_;
  RingWatch& watch_;
  const RingSize size_;
  RegisteredBuffer ring_;
  QueuePair queue_pair_;  // ends before the memory that the other end writes into
  RingWait wait_;
  std::deque<Frame> frames_;    // that have come
  std::size_t read_ = 0;        // bytes of the first of them
  std::uint64_t position_ = 0;  // where the next frame begins, counted from the connection's beginning
  std::uint64_t frames_come_ = 0;
  std::size_t occupied_ = 0;  // bytes of the ring
  Credit credit_;             // to be returned
};

}  // namespace tenax::comm::verbs
