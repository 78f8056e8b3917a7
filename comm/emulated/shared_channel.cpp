#include "comm/emulated/shared_channel.hpp"

#include "comm/emulated/direct_link.hpp"
#include "comm/prompt_thread.hpp"

namespace tenax::comm {

using kernels::Deadline;

SharedChannel::SharedChannel(ChannelEnd end, bool paired, std::unique_ptr<Connection> control,
                             double deadline_s)
    : end_(end),
      deadline_s_(deadline_s),
      control_(std::move(control)),
      arbiter_(paired),
      sender_(start_prompt_thread([this] { transmit_messages(); })),
      listener_(start_prompt_thread([this] { listen(); })) {}

SharedChannel::~SharedChannel() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  sender_.join();
  control_->shut_down();
  listener_.join();
}

void SharedChannel::enter(Outgoing message, kernels::Stream&) {
  const std::lock_guard lock(mutex_);
  messages_.push_back(std::move(message));
  post(request);
  changed_.notify_all();
}

void SharedChannel::transmit_messages() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !messages_.empty(); });
    if (messages_.empty()) return;
    const bool granted = wait_for_grant(lock);
    Outgoing& message = messages_.front();  // stays where it is while others enter
    lock.unlock();
    message.link->transmit(message);
    lock.lock();
    messages_.pop_front();
    if (granted) post(release);
  }
}

// False when none will come: then the link of the first message has failed.
bool SharedChannel::wait_for_grant(std::unique_lock<std::mutex>& lock) {
  const Stopwatch stopwatch;
  changed_.wait_until(lock, Deadline::after_s(deadline_s_).when(),
                      [this] { return grants_ > 0 || failure_; });
  if (grants_ > 0) {
    --grants_;
    return true;
  }
  const Outgoing& message = messages_.front();
  try {
    if (failure_) failure_->raise();
    message.link->give_up_sending(message.header, stopwatch.elapsed_s());
  } catch (...) {
    message.link->fail(std::current_exception());
  }
  return false;
}

void SharedChannel::listen() {
  try {
    for (;;) {
      const auto header = control_->receive(Deadline::after_s(deadline_s_));
      const std::lock_guard lock(mutex_);
      if (!header) continue;  // silence is no fault
      if (header->kind == grant)
        take_grant();
      else
        arbitrate(static_cast<Kind>(header->kind), ChannelEnd::upper);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    break_down(std::current_exception());
  }
}

void SharedChannel::post(Kind kind) {
  if (end_ == ChannelEnd::lower)
    arbitrate(kind, ChannelEnd::lower);
  else
    tell_other_end(kind);
}

void SharedChannel::arbitrate(Kind kind, ChannelEnd from) {
  if (kind == request)
    arbiter_.request(from);
  else
    arbiter_.release(from);
  while (const auto next = arbiter_.grant())
    if (*next == ChannelEnd::lower)
      take_grant();
    else
      tell_other_end(grant);
}

void SharedChannel::tell_other_end(Kind kind) {
  if (failure_) return;
  try {
    MessageHeader header;
    header.kind = kind;
    control_->send(header, {}, Deadline::after_s(deadline_s_));
  } catch (...) {
    break_down(std::current_exception());
  }
}

void SharedChannel::take_grant() {
  ++grants_;
  changed_.notify_all();
}

void SharedChannel::break_down(std::exception_ptr error) {
  if (!failure_) failure_ = failure_of(error);
  changed_.notify_all();
}

}  // namespace tenax::comm
