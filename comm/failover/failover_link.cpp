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
    : make_(std::move(make_delegated)),
      options_(options),
      pool_(device),
      exchange_(control, options.tags),
      earlier_(pool_) {
  pool_.stock(options.message_bytes, options.retransmit_buffers);
  set_direct(direct);
}

// Delegates may still read the memory that the other members own.
FailoverLink::~FailoverLink() {
  earlier_.clear();
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
  message->was_direct = has_direct_path();
  message->sent_s = kernels::steady_now_s();
  exchange_.expect_acknowledgement(tag);
  return add(std::move(message), sent_);
}

TransferPtr FailoverLink::receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < options_.tags);
  fail_over_again();
  auto message = std::make_shared<FailoverMessage>();
  message->tag = tag;
  message->tensor = tensor;
  message->stream = &stream;
  return add(std::move(message), received_);
}

TransferPtr FailoverLink::add(std::shared_ptr<FailoverMessage> message, FailoverMessages& messages) {
  messages.push_back(message);
  if (message->was_direct) copy_for_resending(*message);
  start(*message);
  return std::make_unique<FailoverTransfer>(*this, std::move(message));
}

// The tensor's memory is used for others before the peer has acknowledged.
void FailoverLink::copy_for_resending(FailoverMessage& message) {
  for (const auto& earlier : sent_)
    if (earlier->retransmit && acknowledged(*earlier))
      pool_.give_back(std::exchange(earlier->retransmit, {}));
  message.retransmit = pool_.keep(*message.stream, message.tensor);
}

// While the pair is failing over, a message has no path yet.
void FailoverLink::start(FailoverMessage& message) {
  if (path_ == Path::direct && exchange_.state() == State::failing_over) return;
  Link& link = has_direct_path() ? *direct_ : *delegated_;
  // A direct send reads its retransmit buffer: cancelled, it may go on reading.
  const kernels::Tensor& bytes = message.retransmit ? message.retransmit.tensor : message.tensor;
  try {
    message.inner = message.outgoing ? link.send(*message.stream, bytes, message.tag)
                                     : link.receive(*message.stream, message.tensor, message.tag);
  } catch (const Error& error) {
    fail_over_or_rethrow(error);
  }
}

bool FailoverLink::poll(FailoverMessage& message) {
  if (message.complete) return true;
  poll_peer();
  if (message.complete) return true;
  message.complete = poll_inner(message) || (message.outgoing && (acknowledged(message) || is_free(message)));
  if (message.complete && !message.outgoing) count_arrival(message);
  return message.complete;
}

void FailoverLink::count_arrival(const FailoverMessage& message) {
  exchange_.acknowledge(message.tag);
  ++(has_direct_path() ? arrivals_.direct : arrivals_.delegated);
}

bool FailoverLink::poll_inner(FailoverMessage& message) {
  if (!message.inner) return false;
  try {
    if (!message.inner->done()) return false;
    message.timing = message.inner->timing();
    return true;
  } catch (const Error& error) {
    fail_over_or_rethrow(error);
    return false;
  }
}

// The peer has it, and would drop what a delegate sent again: so its memory is free before the delegate's own acknowledgement
// has come back over the slow link.
bool FailoverLink::acknowledged(FailoverMessage& message) {
  message.acknowledged = message.acknowledged || exchange_.acknowledged(message.tag);
  return message.acknowledged;
}

// The direct path is cancelled, and nothing reads the tensor of what was sent there.
bool FailoverLink::is_free(const FailoverMessage& message) const {
  return message.was_direct && exchange_.state() != State::direct &&
         (!message.retransmit || message.retransmit.written->done());
}

void FailoverLink::poll_peer() {
  if (path_ == Path::delegated) return;
  const auto receipts = exchange_.poll(received_);
  if (!receipts) return;
  if (exchange_.state() == State::direct) fail_over("the other end gave up " + direct_->describe());
  complete_failover(*receipts);
}

// The failure of an iteration before, which set_path has not settled.
void FailoverLink::fail_over_again() {
  if (has_direct_path() && !failure().empty()) fail_over(std::string(failure()));
}

// In a catch block: an error that is not the direct path's goes on.
void FailoverLink::fail_over_or_rethrow(const Error& error) {
  if (error.scope() != Scope::link || !has_direct_path()) throw;
  direct_path_broke_ = true;
  fail_over(error.what());
}

void FailoverLink::fail_over(const std::string& reason) {
  exchange_.begin(reason, received_);
  cancel_direct();
}

// Memory of direct receives is received into again, over delegates. Streams that wait there are released.
void FailoverLink::cancel_direct() {
  const Deadline deadline = Deadline::after_s(options_.deadline_s);
  for (const auto& message : received_) {
    if (message->complete || !message->inner) continue;
    is_void_ = is_void_ || message->is_relied_on;
    message->inner->cancel(deadline);
    message->inner.reset();
  }
  for (const auto& message : sent_) {
    message->cancelled = std::move(message->inner);
    if (message->cancelled) message->cancelled->cancel(deadline);
  }
}

void FailoverLink::complete_failover(const std::vector<Receipt>& receipts) {
  make_delegated();
  exchange_.complete();
  for (const auto& message : received_)
    if (!message->complete) start(*message);
  for (const auto& message : sent_) resend(*message, receipts[static_cast<std::size_t>(message->tag)]);
}

// The peer may lack a message that the direct path lost, or that no path was given. One that was sent just before the peer's
// deadline may not be lost: this end, too, had waited for a message, over another link.
void FailoverLink::resend(FailoverMessage& message, Receipt receipt) {
  const bool long_ago = kernels::steady_now_s() - message.sent_s > options_.deadline_s / 2;
  if (message.cancelled && receipt == Receipt::missing && long_ago) direct_path_broke_ = true;
  if (receipt != Receipt::received) start(message);
}

void FailoverLink::make_delegated() {
  if (delegated_) return;
  delegated_ = make_();
  if (delegated_->signal()) delegated_->signal()->pass_on_to(&signal_);
}

void FailoverLink::set_path(Path path, int delegates) {
  assert(sent_.empty() && received_.empty() && "between iterations");
  path_ = path;
  exchange_.reset();
  direct_path_broke_ = false;
  last_arrivals_are_final_ = false;
  if (path == Path::direct) return;
  make_delegated();
  delegated_->set_delegates(delegates);
}

bool FailoverLink::all_here() {
  poll_peer();
  const auto has_it = [this](const auto& message) { return acknowledged(*message); };
  const auto here = [this](const auto& message) { return poll(*message); };
  return std::all_of(received_.begin(), received_.end(), here) &&
         std::all_of(sent_.begin(), sent_.end(), has_it) && exchange_.flush();
}

void FailoverLink::finish_iteration() {
  constexpr auto kPause = std::chrono::microseconds(50);
  const Deadline deadline = Deadline::after_s(2 * options_.deadline_s);
  while (!all_here()) {
    if (deadline.expired())
      throw Error(Scope::link, timeout_sentence(describe(), "this rank", 2 * options_.deadline_s,
                                                "its peer to acknowledge all messages of the iteration") +
                                   (failure().empty() ? "" : "; before that: " + failure()));
    std::this_thread::sleep_for(kPause);
  }
  earlier_.add(sent_);
  end_iteration();
}

void FailoverLink::end_iteration() {
  sent_.clear();
  received_.clear();
  const Arrivals arrivals = std::exchange(arrivals_, {});
  if (!last_arrivals_are_final_) last_arrivals_ = arrivals;
  last_arrivals_are_final_ = !failure().empty();
  last_is_void_ = std::exchange(is_void_, false);
  exchange_.end_iteration();
}

}  // namespace tenax::comm
