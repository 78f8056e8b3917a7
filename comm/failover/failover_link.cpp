#include "comm/failover/failover_link.hpp"

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

#include "comm/failover/failover_transfer.hpp"
#include "comm/failure.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

FailoverLink::FailoverLink(Link& direct, Link& control, MakeDelegated make_delegated, kernels::Device& device,
                           FailoverOptions options)
    : make_(std::move(make_delegated)), options_(options), pool_(device), control_(control, options.tags) {
  pool_.stock(options.message_bytes, options.retransmit_buffers);
  set_direct(direct);
}

// Delegates may still read the memory that the other members own.
FailoverLink::~FailoverLink() {
  lingering_.clear();
  cancelled_sends_.clear();
  sent_.clear();
  received_.clear();
  delegated_.reset();
  if (direct_->signal()) direct_->signal()->pass_on_to(nullptr);
}

void FailoverLink::set_direct(Link& direct) {
  direct_ = &direct;
  if (direct_->signal()) direct_->signal()->pass_on_to(&signal_);
}

Signal* FailoverLink::signal() { return path_ == Path::delegated || direct_->signal() ? &signal_ : nullptr; }

TransferPtr FailoverLink::send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < options_.tags);
  fail_over_again();
  auto message = std::make_shared<FailoverMessage>();
  message->outgoing = true;
  message->tag = tag;
  message->tensor = tensor;
  message->stream = &stream;
  message->was_direct = path_ == Path::direct && state_ == State::direct;
  message->sent_s = kernels::steady_now_s();
  control_.expect_acknowledgement(tag);
  sent_.push_back(message);
  if (message->was_direct) copy_for_resending(*message);
  start(*message);
  return std::make_unique<FailoverTransfer>(*this, message);
}

TransferPtr FailoverLink::receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < options_.tags);
  fail_over_again();
  auto message = std::make_shared<FailoverMessage>();
  message->tag = tag;
  message->tensor = tensor;
  message->stream = &stream;
  received_.push_back(message);
  start(*message);
  return std::make_unique<FailoverTransfer>(*this, message);
}

// The bytes that a failover may have to send again: the tensor's memory is reused before the peer has acknowledged.
void FailoverLink::copy_for_resending(FailoverMessage& message) {
  for (const auto& earlier : sent_)
    if (earlier->retransmit && acknowledged(*earlier))
      pool_.give_back(std::exchange(earlier->retransmit, {}));
  message.retransmit = pool_.keep(*message.stream, message.tensor);
}

// Puts a message on the path of the moment; while the pair is leaving the direct one, on none yet.
void FailoverLink::start(FailoverMessage& message) {
  if (path_ == Path::direct && state_ == State::failing_over) return;
  Link& link = path_ == Path::delegated || state_ == State::failed_over ? *delegated_ : *direct_;
  // A direct send reads the bytes that are kept anyway: given up, it may go on reading.
  const kernels::Tensor& bytes = message.retransmit ? message.retransmit.tensor : message.tensor;
  try {
    message.inner = message.outgoing ? link.send(*message.stream, bytes, message.tag)
                                     : link.receive(*message.stream, message.tensor, message.tag);
  } catch (const Error& error) {
    fail_over_for(error);
  }
}

bool FailoverLink::poll(FailoverMessage& message) {
  if (message.complete) return true;
  hear_peer();
  if (message.complete) return true;
  message.complete = poll_inner(message) || (message.outgoing && (acknowledged(message) || is_free(message)));
  if (message.complete && !message.outgoing) note_arrival(message);
  return message.complete;
}

void FailoverLink::note_arrival(const FailoverMessage& message) {
  control_.acknowledge(message.tag);
  ++(path_ == Path::direct && state_ == State::direct ? arrived_.direct : arrived_.delegated);
}

bool FailoverLink::poll_inner(FailoverMessage& message) {
  if (!message.inner) return false;
  try {
    if (!message.inner->done()) return false;
    message.timing = message.inner->timing();
    return true;
  } catch (const Error& error) {
    fail_over_for(error);
    return false;
  }
}

// The peer has it: what a delegate would send again would be dropped there, so its memory is free before the delegate's own
// acknowledgement has come back over the slow link.
bool FailoverLink::acknowledged(FailoverMessage& message) {
  message.acknowledged = message.acknowledged || control_.acknowledged(message.tag);
  return message.acknowledged;
}

// The direct path is given up, and nothing reads the tensor of what was sent there.
bool FailoverLink::is_free(const FailoverMessage& message) const {
  return message.was_direct && state_ != State::direct &&
         (!message.retransmit || message.retransmit.written->done());
}

bool FailoverLink::orders_without_blocking(const FailoverMessage& message) const {
  if (message.retransmit) return true;  // it is only the copy that its tensor must last for
  if (path_ == Path::direct && state_ == State::failing_over) return false;
  return message.inner && message.inner->orders_without_blocking();
}

// False when the direct path turns out to be broken.
bool FailoverLink::order(FailoverMessage& message, kernels::Stream& stream, Deadline deadline) {
  if (message.retransmit) {
    stream.wait(*message.retransmit.written);
    return true;
  }
  try {
    message.inner->order_before(stream, deadline);
  } catch (const Error& error) {
    fail_over_for(error);
    return false;
  }
  message.is_relied_on = true;
  return true;
}

// Nobody waits for it any more, but perhaps the device does: then it ends at once, though not necessarily before this returns.
void FailoverLink::cancel(FailoverMessage& message) noexcept {
  if (message.outgoing || message.complete || !orders_without_blocking(message)) return;
  try {
    message.inner->cancel(Deadline::after_s(0));
  } catch (const Error&) {
  }
  message.inner.reset();
}

void FailoverLink::make_delegated() {
  if (delegated_) return;
  delegated_ = make_();
  if (delegated_->signal()) delegated_->signal()->pass_on_to(&signal_);
}

void FailoverLink::set_path(Path path, int delegates) {
  assert(sent_.empty() && received_.empty() && "between iterations");
  path_ = path;
  state_ = State::direct;
  failure_.clear();
  direct_path_broke_ = false;
  arrivals_are_final_ = false;
  if (path == Path::direct) return;
  make_delegated();
  delegated_->set_delegates(delegates);
}

bool FailoverLink::all_here() {
  hear_peer();
  const auto has_it = [this](const auto& message) { return acknowledged(*message); };
  const auto here = [this](const auto& message) { return poll(*message); };
  return std::all_of(received_.begin(), received_.end(), here) &&
         std::all_of(sent_.begin(), sent_.end(), has_it) && control_.flush();
}

void FailoverLink::finish_iteration() {
  constexpr auto kPause = std::chrono::microseconds(50);
  const Deadline deadline = Deadline::after_s(2 * options_.deadline_s);
  while (!all_here()) {
    if (deadline.expired())
      throw Error(Scope::link, timeout_sentence(describe(), "this rank", 2 * options_.deadline_s,
                                                "its peer to acknowledge all messages of the iteration") +
                                   (failure_.empty() ? "" : "; before that: " + failure_));
    std::this_thread::sleep_for(kPause);
  }
  for (const auto& message : sent_) {
    if (message->cancelled)
      cancelled_sends_.push_back(message);
    else if (message->retransmit)
      pool_.give_back(std::move(message->retransmit));
    if (message->inner) lingering_.push_back(std::move(message->inner));
  }
  std::erase_if(lingering_, [](const TransferPtr& transfer) { return transfer->done(); });
  sent_.clear();
  received_.clear();
  drop_cancelled_sends();
  end_iteration();
}

// What was given up has ended by and by, or failed: what may still run of it is received by nobody.
void FailoverLink::drop_cancelled_sends() {
  std::erase_if(cancelled_sends_, [this](const auto& message) {
    try {
      if (!message->cancelled->done()) return false;
    } catch (const Error&) {
    }
    if (message->retransmit) pool_.give_back(std::move(message->retransmit));
    return true;
  });
}

void FailoverLink::end_iteration() {
  const Arrivals arrived = std::exchange(arrived_, {});
  if (!arrivals_are_final_) delivered_ = arrived;
  arrivals_are_final_ = !failure_.empty();
  was_void_ = std::exchange(is_void_, false);
  if (state_ == State::failing_over) state_ = State::direct;  // the peer was through before it heard of it
  ++iteration_;
}

void FailoverLink::release_memory() {
  for (const TransferPtr& transfer : lingering_) transfer->wait(Deadline::after_s(options_.deadline_s));
  lingering_.clear();
}

}  // namespace tenax::comm
