#include "comm/staged/staged_link.hpp"

#include <cassert>

#include "comm/failure.hpp"
#include "comm/link.hpp"
#include "comm/staged/staged_transfers.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Tensor;

StagedContext::StagedContext(std::unique_ptr<Endpoint> its_inner, kernels::Device& its_device,
                             CommOptions options)
    : inner(std::move(its_inner)),
      device(its_device),
      deadline_s(options.deadline_s),
      out(device.create_stream()),
      in(device.create_stream()),
      staging_(device) {}

StagedContext::~StagedContext() {
  for (const HostBuffer& host_buffer : returned_) try {
      host_buffer.copied->wait(Deadline::after_s(deadline_s));
    } catch (...) {  // the device is broken, which whoever uses it next will say
    }
}

HostBuffer StagedContext::take(std::size_t bytes) {
  std::erase_if(returned_, [this](HostBuffer& host_buffer) {
    const bool idle = host_buffer.copied->done();
    if (idle) staging_.give_back(std::move(host_buffer));
    return idle;
  });
  return staging_.take(bytes);
}

void StagedContext::give_back(HostBuffer host_buffer) { returned_.push_back(std::move(host_buffer)); }

TransferPtr StagedLink::send(kernels::Stream& stream, const Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < kMaxTag);
  auto message = std::make_shared<StagedMessage>();
  message->host_buffer = context_.take(tensor.bytes());
  message->host = {message->host_buffer.buffer->data(), tensor.dtype, tensor.shape};
  message->tag = tag;
  const auto ready = context_.device.create_event();
  stream.record(*ready);
  context_.out->wait(*ready);
  context_.device.kernels().copy(*context_.out, tensor, message->host);
  context_.out->record(*message->host_buffer.copied);
  sender_.add([this, message] {
    try {
      message->host_buffer.copied->wait(Deadline::after_s(context_.deadline_s));
      const std::lock_guard lock(context_.mutex);
      message->inner = context_.inner->link(peer_).send(context_.host, message->host, message->tag);
    } catch (...) {
      const std::lock_guard lock(context_.mutex);
      message->failure = failure_of(std::current_exception());
    }
  });
  return std::make_unique<StagedSend>(
      context_, describe_message("send", tensor.bytes(), tag) + " to " + context_.inner->describe(peer_),
      std::move(message));
}

TransferPtr StagedLink::receive(kernels::Stream& stream, const Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < kMaxTag);
  HostBuffer host_buffer = context_.take(tensor.bytes());
  auto ready = context_.device.create_event();
  stream.record(*ready);
  const Tensor memory{host_buffer.buffer->data(), tensor.dtype, tensor.shape};
  TransferPtr inner;
  {
    const std::lock_guard lock(context_.mutex);
    inner = context_.inner->link(peer_).receive(context_.host, memory, tag);
  }
  return std::make_unique<StagedReceive>(context_, tensor, std::move(host_buffer), std::move(ready),
                                         std::move(inner));
}

}  // namespace tenax::comm
