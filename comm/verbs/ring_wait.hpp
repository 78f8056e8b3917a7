// RingWait: how a thread waits for completions of its queue pair, and for how long it believes in
// the path.
#pragma once

#include <array>

#include "comm/verbs/peer_socket.hpp"
#include "comm/verbs/queue_pair.hpp"

namespace tenax::comm::verbs {

/// What a thread that waits looks after besides.
class RingWatch {
 public:
  virtual ~RingWatch() = default;
  /// Returns when to look again at the latest. Throws as RingWait::check().
  virtual kernels::Deadline look() = 0;
  /// Readable: look now; -1: until the next look there is nothing to wait for.
  virtual std::array<int, 2> channels() const = 0;
};

/// Thread rule: the queue pair's thread. Its references must outlive it.
class RingWait {
 public:
  /// What is under way without any progress for twice `silence_s` has failed, even if the device has
  /// not said so. Why a wait ends in an error is noted in `note`; what is noted there by others ends
  /// it, once the queue pair is broken.
  RingWait(QueuePair& queue_pair, PeerSocket& peer, BreakNote& note, double silence_s)
      : queue_pair_(queue_pair), peer_(peer), note_(note), silence_s_(silence_s) {}

  /// Polls for up to 20 us, then sleeps, until `ready`, which takes what has completed; false when
  /// the deadline came first. Throws Error(link) once the connection is over; what came before is
  /// taken first.
  template <class Ready>
  bool until(Ready ready, kernels::Deadline deadline, RingWatch* watch = nullptr);

  /// Something has completed.
  void note_progress() { progress_s_ = kernels::steady_now_s(); }
  /// Throws Error(link) where the connection is broken, or was shut down.
  void check();
  /// The same at little cost: as the last look at the other end found it, and what has completed.
  void check_known();
  /// Throws Error(link) where what is under way has made no progress for too long.
  void check_progress() const;
  /// When to look at it again at the latest.
  kernels::Deadline next_look(kernels::Deadline deadline) const;
  /// Throws Error(link), and notes the reason (nothing: it follows from another).
  [[noreturn]] void fail(std::optional<BreakReason> reason, const std::string& sentence) const;

 private:
  static constexpr double kSpin_s = 20e-6;

  QueuePair& queue_pair_;
  PeerSocket& peer_;
  BreakNote& note_;
  const double silence_s_;
  double progress_s_ = 0;
};

template <class Ready>
bool RingWait::until(Ready ready, kernels::Deadline deadline, RingWatch* watch) {
  const double spin_until_s = kernels::steady_now_s() + kSpin_s;
  do
    if (ready()) return true;
  while (kernels::steady_now_s() < spin_until_s);
  for (;;) {
    queue_pair_.arm();
    const PeerSocket::State seen = peer_.look();  // before the last look: what a goodbye promises is there
    if (ready()) return true;
    if (seen != PeerSocket::State::open || queue_pair_.fault() || peer_.is_shut_down()) check();
    check_progress();
    if (deadline.expired()) return false;
    const kernels::Deadline look = watch ? watch->look() : deadline;
    const auto [first, second] = watch ? watch->channels() : std::array{-1, -1};
    peer_.sleep({queue_pair_.channel(), first, second},
                next_look(look.when() < deadline.when() ? look : deadline));
    queue_pair_.consume_events();
    if (ready()) return true;
    if (deadline.expired()) return false;
  }
}

}  // namespace tenax::comm::verbs
