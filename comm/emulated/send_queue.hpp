// SendQueue: one in-order queue for all messages that a rank sends, with little room: the reason
// why a slow link holds up the computation of the stage before it (PipeMorph, NSDI 2026, section
// 3.2).
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "comm/emulated/outlet.hpp"

namespace tenax::comm {

class SendQueue final : public Outlet {
 public:
  /// `depth` ≥ 1: room for so many messages, the one in transit included.
  SendQueue(int depth, double deadline_s);
  ~SendQueue() override;
  /// Blocks while the queue is full.
  void enter(Outgoing message, kernels::Stream& stream) override;

 private:
  void run();
  bool has_room() const { return messages_.size() < depth_; }

  const std::size_t depth_;
  const double deadline_s_;
  std::mutex mutex_;
  std::condition_variable entered_, left_;
  std::deque<Outgoing> messages_;  ///< the first is in transit
  double last_left_s_ = 0;         ///< when the wire became free and the queue last got room, steady clock
  bool closing_ = false;
  std::thread thread_;  ///< after what it uses
};

}  // namespace tenax::comm
