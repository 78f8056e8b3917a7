#include "comm/landing.hpp"

#include <limits>

#include "kernels/kernels.hpp"

namespace tenax::comm {
namespace {

constexpr double kCopyDeadline_s = 60;  // a device that takes longer to end its copies is broken
// Devices may compare as signed numbers (CU_STREAM_WAIT_VALUE_GEQ does).
constexpr std::uint32_t kAll = std::numeric_limits<std::int32_t>::max();

}  // namespace

Landing::Landing(kernels::Device& device)
    : device_(device), stream_(device.create_stream()), arrived_(device.create_flag()) {}

Landing::~Landing() {
  open();
  try {
    stream_->synchronize(kernels::Deadline::after_s(kCopyDeadline_s));
  } catch (const std::exception&) {
    // Whoever waits for the device elsewhere hears of it.
  }
}

void Landing::copy(HostStaging::Slot& slot, const kernels::Tensor& tensor, const kernels::Event& writable) {
  stream_->wait(writable);
  if (tensor.bytes() > 0)
    device_.kernels().copy(*stream_, {slot.buffer->data(), tensor.dtype, tensor.shape}, tensor);
  stream_->record(*slot.copied);
}

void Landing::arrive(std::uint32_t turn) {
  const std::lock_guard lock(mutex_);
  arrived_beyond_.insert(turn);
  while (arrived_beyond_.erase(arrived_to_ + 1) > 0) ++arrived_to_;
  if (arrived_->value() < arrived_to_) arrived_->set(arrived_to_);
}

void Landing::open() {
  const std::lock_guard lock(mutex_);
  arrived_->set(kAll);
}

}  // namespace tenax::comm
