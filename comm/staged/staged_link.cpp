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
  sender_.add([this, message] {
    try {
      message->slot.copied->wait(Deadline::after_s(place_.deadline_s));
      HostStream host;
      const std::lock_guard lock(place_.mutex);
      message->inner = place_.inner->link(peer_).send(host, message->host, message->tag);
    } catch (...) {
      const std::lock_guard lock(place_.mutex);
      message->failure = failure_of(std::current_exception());
    }
  });
  return std::make_unique<StagedSend>(place_,
                                      "send of " + std::to_string(tensor.bytes()) + " bytes (tag " +
                                          std::to_string(tag) + ") to " + place_.inner->describe(peer_),
                                      std::move(message));
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
