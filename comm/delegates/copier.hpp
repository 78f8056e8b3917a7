// Copier: copies messages out of the tensors they are sent from, into a ring of pinned buffers.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "comm/delegates/outgoing_message.hpp"
#include "comm/failure.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {

/// One message after the other, in the order they were sent, on a thread of its own: on some devices a copy takes the
/// thread that asks for it. Thread rule: any thread.
class Copier {
 public:
  /// Called on the copier's thread: with a message that is in its slot, or with what went wrong.
  struct Events {
    std::function<void(const OutgoingPtr&)> copied;
    std::function<void(const Failure&)> failed;
  };
  /// `slots`: how many messages may be copied out and not yet given back.
  Copier(kernels::Device& device, int slots, double deadline_s, Events events);
  ~Copier() { stop(); }
  /// Drops what it has not begun, and ends the thread.
  void stop();

  void add(OutgoingPtr message);
  /// The message was delivered: its buffer is free for the next one.
  void give_back(OutgoingMessage& message);
  void set_slots(int slots);

 private:
  bool wait_for_slot();
  void copy(const OutgoingPtr& message);

  kernels::Device& device_;
  HostStaging staging_;
  const double deadline_s_;
  Events events_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int slots_, used_ = 0;
  bool is_stopped_ = false;
  std::unique_ptr<Worker> worker_ = std::make_unique<Worker>();
};

}  // namespace tenax::comm
