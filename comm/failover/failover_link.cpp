// How a pair leaves the direct path. The end that notices tells the other over the control link which messages of the
// iteration it has, and gives its direct transfers up (state `leaving`). The other end, polling, hears of it and does the
// same. With both notices exchanged (state `left`) both make the delegated link, ask for what they lack there, and send what
// the peer lacks: the bytes were kept.
//
// An end may notice too late: its last send fails although the message had arrived, and the peer is through with the
// iteration. Then the acknowledgement is on its way and nothing is missing; the peer drops the notice, and the next set_path
// settles the path for both.
#include "comm/failover/failover_link.hpp"

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

#include "comm/failover/failover_transfer.hpp"
#include "kernels/error.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

FailoverLink::FailoverLink(Link& direct, Link& control, MakeDelegated make_delegated, kernels::Device& device,
                           FailoverOptions options)
    : make_(std::move(make_delegated)), device_(device), options_(options), control_(control, options.tags) {
  set_direct(direct);
}

// Delegates may still read the memory that the other members own.
FailoverLink::~FailoverLink() {
  lingering_.clear();
  abandoned_.clear();
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
  auto message = std::make_shared<FailoverMessage>();
  message->outgoing = true;
  message->tag = tag;
  message->tensor = tensor;
  message->stream = &stream;
  control_.expect_acknowledgement(tag);
  sent_.push_back(message);
  if (path_ == Path::direct && state_ == State::direct) keep(*message);
  start(*message);
  return std::make_unique<FailoverTransfer>(*this, message);
}

TransferPtr FailoverLink::receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < options_.tags);
  auto message = std::make_shared<FailoverMessage>();
  message->tag = tag;
  message->tensor = tensor;
  message->stream = &stream;
  received_.push_back(message);
  start(*message);
  return std::make_unique<FailoverTransfer>(*this, message);
}

// The bytes that a failover may have to send again: the tensor's memory is reused before the peer has acknowledged.
void FailoverLink::keep(FailoverMessage& message) {
  if (!device_.has_data()) return;
  for (const auto& earlier : sent_)
    if (earlier->kept && !earlier->acknowledged && control_.acknowledged(earlier->tag)) {
      earlier->acknowledged = true;
      spare_.push_back(std::move(earlier->kept));
    }
  const std::size_t bytes = message.tensor.bytes();
  const auto fits = std::find_if(spare_.begin(), spare_.end(),
                                 [&](const auto& buffer) { return buffer->bytes() >= bytes; });
  if (fits != spare_.end()) {
    message.kept = std::move(*fits);
    spare_.erase(fits);
  } else {
    message.kept = device_.allocate(bytes);
  }
  device_.kernels().copy(*message.stream, message.tensor,
                         message.kept->tensor(message.tensor.dtype, message.tensor.shape));
}

// Puts a message on the path of the moment; while the pair is leaving the direct one, on none yet.
void FailoverLink::start(FailoverMessage& message) {
  if (path_ == Path::direct && state_ == State::leaving) return;
  Link& link = path_ == Path::delegated || state_ == State::left ? *delegated_ : *direct_;
  // A direct send reads the bytes that are kept anyway: given up, it may go on reading.
  const bool from_kept = &link == direct_ && message.kept;
  const kernels::Tensor bytes =
      from_kept ? message.kept->tensor(message.tensor.dtype, message.tensor.shape) : message.tensor;
  try {
    message.inner = message.outgoing ? link.send(*message.stream, bytes, message.tag)
                                     : link.receive(*message.stream, message.tensor, message.tag);
  } catch (const Error& error) {
    if (error.scope() != Scope::link || &link != direct_) throw;
    leave(error.what());
  }
}

bool FailoverLink::poll(FailoverMessage& message) {
  if (message.complete) return true;
  serve();
  if (message.complete) return true;
  message.complete = poll_inner(message) || (message.outgoing && acknowledged(message));
  if (message.complete && !message.outgoing) take(message);
  return message.complete;
}

void FailoverLink::take(const FailoverMessage& message) {
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
    if (error.scope() != Scope::link || path_ == Path::delegated || state_ != State::direct) throw;
    leave(error.what());
    return message.complete;
  }
}

// The peer has it: what a delegate would send again would be dropped there, so its memory is free before the delegate's own
// acknowledgement has come back over the slow link.
bool FailoverLink::acknowledged(FailoverMessage& message) {
  message.acknowledged = message.acknowledged || control_.acknowledged(message.tag);
  return message.acknowledged;
}

void FailoverLink::serve() {
  if (path_ == Path::delegated || state_ == State::left) return;
  const auto here = control_.notice(iteration_);
  if (!here) return;
  if (state_ == State::direct) leave("the other end gave up " + direct_->describe());
  join_peer(*here);
}

void FailoverLink::leave(const std::string& reason) {
  assert(state_ == State::direct);
  state_ = State::leaving;
  failure_ = reason;
  std::vector<std::int32_t> here(static_cast<std::size_t>(options_.tags), 0);
  for (const auto& message : received_)
    here[static_cast<std::size_t>(message->tag)] = message->complete ? 1 : 0;
  for (const auto& message : sent_) {
    message->abandoned = std::move(message->inner);
    message->complete = true;  // its bytes are kept, or it has none
  }
  control_.notify(iteration_, here);
  give_up_receives();
}

// Their memory is received into again, over delegates.
void FailoverLink::give_up_receives() {
  const Deadline deadline = Deadline::after_s(options_.deadline_s);
  for (const auto& message : received_) {
    if (message->complete || !message->inner) continue;
    message->inner->give_up(deadline);
    message->inner.reset();
  }
}

void FailoverLink::join_peer(const std::vector<std::int32_t>& here) {
  make_delegated();
  state_ = State::left;
  for (const auto& message : received_)
    if (!message->complete) start(*message);
  for (const auto& message : sent_) {
    if (!message->complete) start(*message);  // handed over while leaving
    if (here[static_cast<std::size_t>(message->tag)] != 0 || message->inner) continue;
    kernels::Tensor bytes = message->tensor;
    if (message->kept) bytes = message->kept->tensor(message->tensor.dtype, message->tensor.shape);
    message->inner = delegated_->send(*message->stream, bytes, message->tag);
  }
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
  if (path == Path::direct) return;
  make_delegated();
  delegated_->set_delegates(delegates);
}

bool FailoverLink::all_here() {
  serve();
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
      throw Error(Scope::link, describe() + ": the peer did not acknowledge all messages of the iteration" +
                                   (failure_.empty() ? "" : "; before that: " + failure_));
    std::this_thread::sleep_for(kPause);
  }
  for (const auto& message : sent_) {
    if (message->abandoned)
      abandoned_.push_back(message);
    else if (message->kept)
      spare_.push_back(std::move(message->kept));
    if (message->inner) lingering_.push_back(std::move(message->inner));
  }
  std::erase_if(lingering_, [](const TransferPtr& transfer) { return transfer->done(); });
  sent_.clear();
  received_.clear();
  delivered_ = std::exchange(arrived_, {});
  // The peer was through before it heard of it: the path is given up by set_path, or in the next iteration.
  if (state_ == State::leaving) state_ = State::direct;
  ++iteration_;
}

void FailoverLink::release_memory() {
  for (const TransferPtr& transfer : lingering_) transfer->wait(Deadline::after_s(options_.deadline_s));
  lingering_.clear();
}

}  // namespace tenax::comm
