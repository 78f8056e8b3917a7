#include "comm/emulated/shared_channel.hpp"

#include "comm/emulated/direct_link.hpp"
#include "comm/inbox/message_check.hpp"
#include "comm/signal.hpp"
#include "comm/worker.hpp"
#include "kernels/deadline.hpp"

namespace tenax::comm {

using kernels::Deadline;

SharedChannel::SharedChannel(ChannelEnd end, bool paired, std::unique_ptr<Connection> control,
                             double deadline_s)
    : end_(end),
      deadline_s_(deadline_s),
      control_(std::move(control)),
      arbiter_(paired),
      sender_(start_prompt_thread([this] { transmit_messages(); })) {
  try {
    listener_ = start_prompt_thread([this] { listen(); });
  } catch (...) {
    end_sender();
    throw;
  }
}

void SharedChannel::end_sender() {
  change_and_notify(mutex_, changed_, [this] { closing_ = true; });
  sender_.join();
}

SharedChannel::~SharedChannel() {
  end_sender();
  control_->shut_down();
  listener_.join();
}

void SharedChannel::enter(Outgoing message, kernels::Stream&) {
  const std::lock_guard lock(mutex_);
  const double due_s = message.due_s();
  messages_.push_back(std::move(message));
  post(request, due_s);
  changed_.notify_all();
}

void SharedChannel::transmit_messages() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !messages_.empty(); });
    if (messages_.empty()) return;
    const std::optional<double> granted_s = wait_for_grant(lock);
    Outgoing& message = messages_.front();  // stays where it is while others enter
    message.turn_s = granted_s.value_or(0);
    lock.unlock();
    const double left_s = message.link->transmit(message);
    lock.lock();
    messages_.pop_front();
    if (granted_s) post(release, left_s);
  }
}

// Nothing when none will come: then the link of the first message has failed.
std::optional<double> SharedChannel::wait_for_grant(std::unique_lock<std::mutex>& lock) {
  const Stopwatch stopwatch;
  changed_.wait_until(lock, Deadline::after_s(deadline_s_).when(),
                      [this] { return !grants_s_.empty() || failure_; });
  if (!grants_s_.empty()) {
    const double granted_s = grants_s_.front();
    grants_s_.pop_front();
    return granted_s;
  }
  const Outgoing& message = messages_.front();
  try {
    if (failure_) failure_->raise();
    message.link->throw_timed_out(message.header, stopwatch.elapsed_s());
  } catch (...) {
    message.link->fail(std::current_exception());
  }
  return std::nullopt;
}

void SharedChannel::listen() {
  try {
    for (;;) {
      const auto header = control_->receive(Deadline::after_s(deadline_s_));
      const std::lock_guard lock(mutex_);
      if (!header) continue;  // silence is no fault
      check(*header);
      const double time_s = kernels::steady_now_s() - header->late_s;
      if (header->kind == grant)
        take_grant(time_s);
      else
        arbitrate(static_cast<Kind>(header->kind), ChannelEnd::upper, time_s);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    break_down(std::current_exception());
  }
}

void SharedChannel::check(const MessageHeader& header) const {
  const bool is_expected =
      end_ == ChannelEnd::lower ? header.kind == request || header.kind == release : header.kind == grant;
  refuse_faulty(is_expected ? "" : "is of the kind " + std::to_string(header.kind), control_->describe());
  refuse_faulty(fault_of(header, {}), control_->describe());
  refuse_faulty(header.payload_bytes == 0 ? "" : "brings what nobody expects", control_->describe());
}

void SharedChannel::post(Kind kind, double time_s) {
  if (end_ == ChannelEnd::lower)
    arbitrate(kind, ChannelEnd::lower, time_s);
  else
    tell_other_end(kind, time_s);
}

void SharedChannel::arbitrate(Kind kind, ChannelEnd from, double time_s) {
  if (kind == request)
    arbiter_.request(from, time_s);
  else
    arbiter_.release(from, time_s);
  while (const auto next = arbiter_.grant())
    if (next->end == ChannelEnd::lower)
      take_grant(next->time_s);
    else
      tell_other_end(grant, next->time_s);
}

void SharedChannel::tell_other_end(Kind kind, double time_s) {
  if (failure_) return;
  try {
    MessageHeader header;
    header.kind = kind;
    header.late_s = kernels::steady_now_s() - time_s;
    control_->send(header, {}, Deadline::after_s(deadline_s_));
  } catch (...) {
    break_down(std::current_exception());
  }
}

void SharedChannel::take_grant(double time_s) {
  grants_s_.push_back(time_s);
  changed_.notify_all();
}

void SharedChannel::break_down(std::exception_ptr error) {
  if (!failure_) failure_ = failure_of(error);
  changed_.notify_all();
}

}  // namespace tenax::comm
