#include "comm/emulated/send_queue.hpp"

#include "comm/emulated/direct_link.hpp"
#include "comm/signal.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {

SendQueue::SendQueue(int depth, double deadline_s)
    : depth_(static_cast<std::size_t>(depth)),
      deadline_s_(deadline_s),
      thread_(start_prompt_thread([this] { run(); })) {
  assert(depth >= 1);
}

SendQueue::~SendQueue() {
  change_and_notify(mutex_, entered_, [this] { closing_ = true; });
  thread_.join();
}

void SendQueue::enter(Outgoing message, kernels::Stream& stream) {
  const Stopwatch stopwatch;
  std::unique_lock lock(mutex_);
  if (!has_room()) {
    const kernels::Deadline deadline = kernels::Deadline::after_s(deadline_s_);
    if (!left_.wait_until(lock, deadline.when(), [this] { return has_room(); }))
      message.link->throw_timed_out(message.header, stopwatch.elapsed_s());
    stream.input_arrived(last_left_s_);
  }
  messages_.push_back(std::move(message));
  lock.unlock();
  entered_.notify_one();
}

void SendQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    entered_.wait(lock, [this] { return closing_ || !messages_.empty(); });
    if (messages_.empty()) return;
    Outgoing& message = messages_.front();  // stays where it is while others enter
    message.turn_s = last_left_s_;
    lock.unlock();
    const double left_s = message.link->transmit(message);
    lock.lock();
    last_left_s_ = left_s;
    messages_.pop_front();
    left_.notify_one();
  }
}

}  // namespace tenax::comm
