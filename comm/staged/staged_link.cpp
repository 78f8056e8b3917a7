#include "comm/staged/staged_link.hpp"

#include <cassert>

#include "comm/host_stream.hpp"
#include "comm/staged/staged_transfers.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {

using kernels::Deadline;
using kernels::Tensor;

StagedPlace::StagedPlace(std::unique_ptr<Endpoint> its_inner, kernels::Device& its_device,
                         CommOptions options)
    : inner(std::move(its_inner)),
      device(its_device),
      deadline_s(options.deadline_s),
      out(device.create_stream()),
      in(device.create_stream()),
      staging_(device) {}

StagedPlace::~StagedPlace() {
  for (const HostStaging::Slot& slot : retired_) try {
      slot.copied->wait(Deadline::after_s(deadline_s));
    } catch (...) {  // the device is broken, which whoever uses it next will say
    }
}

HostStaging::Slot StagedPlace::take(std::size_t bytes) {
  std::erase_if(retired_, [this](HostStaging::Slot& slot) {
    const bool idle = slot.copied->done();
    if (idle) staging_.give_back(std::move(slot));
    return idle;
  });
  return staging_.take(bytes);
}

void StagedPlace::give_back(HostStaging::Slot slot) { retired_.push_back(std::move(slot)); }

TransferPtr StagedLink::send(kernels::Stream& stream, const Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < kMaxTag);
  auto message = std::make_shared<StagedMessage>();
  message->slot = place_.take(tensor.bytes());
  message->host = {message->slot.buffer->data(), tensor.dtype, tensor.shape};
  message->tag = tag;
  const auto ready = place_.device.create_event();
  stream.record(*ready);
  place_.out->wait(*ready);
  place_.device.kernels().copy(*place_.out, tensor, message->host);
  place_.out->record(*message->slot.copied);
  sender_.add([this, message]() mutable { carry(std::move(message)); });
  return std::make_unique<StagedSend>(place_,
                                      "send of " + std::to_string(tensor.bytes()) + " bytes (tag " +
                                          std::to_string(tag) + ") to " + place_.inner->describe(peer_),
                                      std::move(message));
}

// MPI moves a long message only while its sender calls MPI, and the rank's own thread may be in a collective whose other
// ranks wait for this very message.
void StagedLink::carry(MessagePtr message) {
  if (start(message)) under_way_.push_back(std::move(message));
  kernels::Backoff backoff;
  for (drive(); !under_way_.empty() && !sender_.is_wanted(); drive()) backoff.pause();
}

/// False when it failed.
bool StagedLink::start(const MessagePtr& message) {
  try {
    const kernels::Event& copied = *message->slot.copied;
    const auto is_copied = [&] {
      drive();
      return copied.done();
    };
    if (!poll_until(is_copied, Deadline::after_s(place_.deadline_s))) copied.wait(Deadline::after_s(0));
    HostStream host;
    const std::lock_guard lock(place_.mutex);
    message->inner = place_.inner->link(peer_).send(host, message->host, message->tag);
    return true;
  } catch (...) {
    const std::lock_guard lock(place_.mutex);
    message->failure = failure_of(std::current_exception());
    return false;
  }
}

// Until they are done, or nobody waits for them any more.
void StagedLink::drive() {
  std::erase_if(under_way_, [this](const MessagePtr& message) {
    const std::lock_guard lock(place_.mutex);
    try {
      if (message.use_count() == 1) message->inner.reset();
      return !message->inner || message->inner->done();
    } catch (...) {
      message->failure = failure_of(std::current_exception());
      return true;
    }
  });
}

TransferPtr StagedLink::receive(kernels::Stream& stream, const Tensor& tensor, Tag tag) {
  assert(tag >= 0 && tag < kMaxTag);
  HostStaging::Slot slot = place_.take(tensor.bytes());
  auto ready = place_.device.create_event();
  stream.record(*ready);
  HostStream host;
  const Tensor memory{slot.buffer->data(), tensor.dtype, tensor.shape};
  TransferPtr inner;
  {
    const std::lock_guard lock(place_.mutex);
    inner = place_.inner->link(peer_).receive(host, memory, tag);
  }
  return std::make_unique<StagedReceive>(place_, tensor, std::move(slot), std::move(ready), std::move(inner));
}

}  // namespace tenax::comm
