#include "comm/staged/staging_queue.hpp"

#include <algorithm>

#include "comm/failure.hpp"
#include "comm/link.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;
using kernels::Tensor;

/// Enough that copies in both directions overlap with a collective in between.
constexpr int kMaxInHostMemory = 4;

/// How long the end of a copy is waited for whose memory is about to go.
constexpr double kCopyGrace_s = 5;

void wait_for_copy(const HostBuffer& host_buffer) noexcept {
  try {
    host_buffer.copied->wait(Deadline::after_s(kCopyGrace_s));
  } catch (...) {  // the device is broken, which whoever uses it next will say
  }
}

Tensor on_host(const StagedCollective& collective) {
  return collective.host_buffer.buffer->tensor(collective.tensor.dtype, collective.tensor.shape);
}

}  // namespace

StagingQueue::StagingQueue(kernels::Device& device, Communicator& host)
    : device_(device),
      host_(host),
      staging_(device),
      out_(device.create_stream()),
      in_(device.create_stream()) {}

StagingQueue::~StagingQueue() {
  for (const CollectivePtr& collective : queue_)
    if (collective->host_buffer) wait_for_copy(collective->host_buffer);
}

StagingQueue::CollectivePtr StagingQueue::add(CollectiveKind kind, kernels::Stream& stream,
                                              const Tensor& tensor, ReduceOp op) {
  auto collective = std::make_shared<StagedCollective>();
  collective->kind = kind;
  collective->op = op;
  collective->tensor = tensor.reshaped({tensor.size()});
  collective->ready = device_.create_event();
  stream.record(*collective->ready);
  queue_.push_back(collective);
  return collective;
}

void StagingQueue::progress() {
  if (failure_) failure_->raise();
  try {
    bool may_start = true;
    for (const CollectivePtr& collective : queue_) {
      advance(*collective, may_start);
      may_start = may_start && collective->step >= Step::moving;
    }
  } catch (...) {
    failure_ = failure_of(std::current_exception());
    throw;
  }
  std::erase_if(queue_, [](const CollectivePtr& collective) { return collective->step == Step::done; });
}

void StagingQueue::advance(StagedCollective& collective, bool may_start) {
  if (collective.step == Step::queued && in_host_memory_ < kMaxInHostMemory) copy_out(collective);
  if (collective.step == Step::copying_out && may_start && collective.host_buffer.copied->done())
    start(collective);
  if (collective.step == Step::moving && (!collective.moving || collective.moving->done()))
    copy_in(collective);
  if (collective.step == Step::copying_in && collective.host_buffer.copied->done()) {
    staging_.give_back(std::move(collective.host_buffer));
    --in_host_memory_;
    collective.step = Step::done;
  }
}

void StagingQueue::copy_out(StagedCollective& collective) {
  HostBuffer& host_buffer = collective.host_buffer = staging_.take(collective.tensor.bytes());
  ++in_host_memory_;
  const Tensor host = on_host(collective);
  const std::int64_t piece = host.size() / host_.size(), begin = piece * host_.rank();
  const bool own_piece = collective.kind == CollectiveKind::all_gather;
  out_->wait(*collective.ready);
  device_.kernels().copy(*out_, own_piece ? collective.tensor.part(begin, {piece}) : collective.tensor,
                         own_piece ? host.part(begin, {piece}) : host);
  out_->record(*host_buffer.copied);
  collective.step = Step::copying_out;
}

void StagingQueue::start(StagedCollective& collective) {
  const Tensor host = on_host(collective);
  if (collective.kind == CollectiveKind::all_reduce)
    host_.all_reduce(host_stream_, host, collective.op);
  else
    collective.moving = collective.kind == CollectiveKind::reduce_scatter
                            ? host_.start_reduce_scatter(host_stream_, host)
                            : host_.start_all_gather(host_stream_, host);
  collective.step = Step::moving;
}

void StagingQueue::copy_in(StagedCollective& collective) {
  const Tensor host = on_host(collective);
  const std::int64_t n = host.size(), piece = n / host_.size(), begin = piece * host_.rank();
  const auto copy = [&](std::int64_t from, std::int64_t count) {
    if (count > 0)
      device_.kernels().copy(*in_, host.part(from, {count}), collective.tensor.part(from, {count}));
  };
  if (collective.kind == CollectiveKind::all_reduce) copy(0, n);
  if (collective.kind == CollectiveKind::reduce_scatter) copy(begin, piece);
  if (collective.kind == CollectiveKind::all_gather) {
    copy(0, begin);
    copy(begin + piece, n - begin - piece);
  }
  in_->record(*collective.host_buffer.copied);
  collective.moving.reset();
  collective.step = Step::copying_in;
}

void StagingQueue::wait(StagedCollective& collective, Step step, Deadline deadline) {
  const auto is_there = [&] {
    if (collective.step < step) progress();
    return collective.step >= step;
  };
  if (!poll_until(is_there, deadline)) break_queue(collective);
}

// What has started knows best which ranks it waits for.
void StagingQueue::break_queue(StagedCollective& collective) {
  try {
    for (const CollectivePtr& other : queue_) {
      if (other->moving) other->moving->wait(Deadline::after_s(0));
      if (other.get() == &collective) break;
    }
    throw Error(Scope::link,
                timeout_sentence(describe(collective), "rank " + std::to_string(host_.rank()) + " of it",
                                 collective.stopwatch.elapsed_s(),
                                 "its own device to copy it to or from host memory"));
  } catch (...) {
    failure_ = failure_of(std::current_exception());
    throw;
  }
}

void StagingQueue::cancel(StagedCollective& collective) noexcept {
  if (collective.step >= Step::copying_in) return;
  if (collective.step == Step::copying_out) wait_for_copy(collective.host_buffer);
  collective.moving.reset();
  if (!failure_)
    failure_ = Failure{Scope::link, describe(collective) + " was left in the middle by an earlier error"};
}

std::string StagingQueue::describe(const StagedCollective& collective) const {
  return std::string(name_of(collective.kind)) + " of " + std::to_string(collective.tensor.bytes()) +
         " bytes in the " + host_.name() + " group, through host memory";
}

}  // namespace tenax::comm
