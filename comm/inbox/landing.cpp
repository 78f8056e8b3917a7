#include "comm/inbox/landing.hpp"

#include <limits>

#include "comm/pieces.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {
namespace {

constexpr double kCopyDeadline_s = 60;  // a device that takes longer to end its copies is broken
constexpr std::uint32_t kFarthest = std::numeric_limits<std::int32_t>::max();  // has_come_to

}  // namespace

Landing::Landing(kernels::Device& device, std::uint32_t first_turn)
    : device_(device),
      stream_(device.create_stream()),
      arrived_(device.create_flag()),
      turns_(first_turn - 1),
      arrived_to_(first_turn - 1) {
  arrived_->set(arrived_to_);
}

Landing::~Landing() {
  open();
  try {
    stream_->synchronize(kernels::Deadline::after_s(kCopyDeadline_s));
  } catch (const std::exception&) {
    // Whoever waits for the device elsewhere hears of it.
  }
}

Landing::Turns Landing::take_turns(std::uint32_t count) {
  const Turns turns{turns_ + 1, count};
  turns_ += count;
  return turns;
}

void Landing::copy(HostBuffer& host_buffer, const kernels::Tensor& tensor, const kernels::Event& writable,
                   Turns turns) {
  const kernels::Tensor host{host_buffer.buffer->data(), tensor.dtype, tensor.shape};
  stream_->wait(writable);
  if (turns.count <= 1) {
    if (turns.count == 1) stream_->wait(*arrived_, turns.first);
    if (tensor.bytes() > 0) device_.kernels().copy(*stream_, host, tensor);
  }
  for (std::uint32_t i = 0; turns.count > 1 && i < turns.count; ++i) {
    stream_->wait(*arrived_, turns.first + i);
    device_.kernels().copy(*stream_, piece_of(host, i), piece_of(tensor, i));
  }
  stream_->record(*host_buffer.copied);
}

void Landing::arrive(std::uint32_t turn) {
  const std::lock_guard lock(mutex_);
  arrived_beyond_.insert(turn);
  while (arrived_beyond_.erase(arrived_to_ + 1) > 0) ++arrived_to_;
  if (!has_come_to(arrived_->value(), arrived_to_)) arrived_->set(arrived_to_);
}

void Landing::open() {
  const std::lock_guard lock(mutex_);
  arrived_->set(arrived_to_ + kFarthest);
}

}  // namespace tenax::comm
