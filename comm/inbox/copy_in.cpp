#include "comm/inbox/copy_in.hpp"

#include <limits>

#include "comm/pieces.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {
namespace {

constexpr std::uint32_t kFarthest = std::numeric_limits<std::int32_t>::max();  // has_come_to

}  // namespace

CopyIn::CopyIn(kernels::Device& device, std::uint32_t first_ticket)
    : device_(device),
      stream_(device.create_stream()),
      arrived_(device.create_flag()),
      tickets_(first_ticket - 1),
      arrived_to_(first_ticket - 1) {
  arrived_->set(arrived_to_);
}

CopyIn::~CopyIn() {
  cancel();
  try {
    stream_->synchronize(kernels::Deadline::after_s(kCopyDeadline_s));
  } catch (const std::exception&) {
    // Whoever waits for the device elsewhere hears of it.
  }
}

CopyIn::Tickets CopyIn::draw_tickets(std::uint32_t count) {
  const Tickets tickets{tickets_ + 1, count};
  tickets_ += count;
  return tickets;
}

void CopyIn::copy(HostBuffer& host_buffer, const kernels::Tensor& tensor, const kernels::Event& writable,
                  Tickets tickets) {
  const kernels::Tensor host{host_buffer.buffer->data(), tensor.dtype, tensor.shape};
  stream_->wait(writable);
  if (tickets.count <= 1) {
    if (tickets.count == 1) stream_->wait(*arrived_, tickets.first);
    if (tensor.bytes() > 0) device_.kernels().copy(*stream_, host, tensor);
  }
  for (std::uint32_t i = 0; tickets.count > 1 && i < tickets.count; ++i) {
    stream_->wait(*arrived_, tickets.first + i);
    device_.kernels().copy(*stream_, piece_of(host, i), piece_of(tensor, i));
  }
  stream_->record(*host_buffer.copied);
}

void CopyIn::mark_arrived(std::uint32_t ticket) {
  const std::lock_guard lock(mutex_);
  arrived_beyond_.insert(ticket);
  while (arrived_beyond_.erase(arrived_to_ + 1) > 0) ++arrived_to_;
  if (!has_come_to(arrived_->value(), arrived_to_)) arrived_->set(arrived_to_);
}

void CopyIn::cancel() {
  const std::lock_guard lock(mutex_);
  arrived_->set(arrived_to_ + kFarthest);
}

}  // namespace tenax::comm
