#include "comm/inbox/inbox_state.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "comm/failure.hpp"
#include "comm/inbox/copy_in.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {}  // namespace

Inbox::State::State(kernels::Device& its_device, Signal& its_signal, std::string its_me, std::string its_peer,
                    bool emulate_copies, SharedBufferPool* shared_buffers, Transport* transport)
    : signal(its_signal),
      me(std::move(its_me)),
      peer(std::move(its_peer)),
      device(its_device),
      copy_in(device.is_asynchronous() ? std::make_unique<CopyIn>(device) : nullptr),
      copies(!copy_in && (device.has_data() ? !device.is_host_memory() : emulate_copies)),
      buffers(device, shared_buffers, transport),
      copier_(std::make_unique<Worker>()) {}

/// What needs the device comes first, without the lock.
PostedReceivePtr Inbox::State::prepare(kernels::Stream* stream, const kernels::Tensor& tensor, Tag tag) {
  const auto receive = std::make_shared<PostedReceive>();
  receive->tensor = tensor;
  receive->tag = tag;
  {
    const std::lock_guard lock(mutex);
    receive->number = matching.next_number(tag, tensor.bytes());
  }
  receive->posted_s = steady_now_s();
  if (!copy_in) return receive;
  assert(stream && "an asynchronous device orders a receive after what its tensor was used for");
  receive->writable = device.create_event();
  stream->record(*receive->writable);
  receive->host_buffer = buffers.take(tag, receive->number, tensor.bytes());
  return receive;
}

PostedReceivePtr Inbox::State::post(kernels::Stream* stream, const kernels::Tensor& tensor, Tag tag) {
  const PostedReceivePtr receive = prepare(stream, tensor, tag);
  std::unique_lock lock(mutex);
  if (auto early = matching.take(receive->key())) {
    const auto message = std::make_shared<ArrivedMessage>(std::move(*early));
    if (copies && message->host_buffer) {  // copying takes time on a device, and posting must not
      receive->phase = Phase::filling;
      copier_->add([this, receive, message] {
        std::unique_lock inner(mutex);
        hand_over(inner, *receive, std::move(*message));
      });
    } else {
      hand_over(lock, *receive, std::move(*message));
    }
  } else if (failure) {
    receive->fail(*failure);
  } else {
    matching.post(receive);
  }
  return receive;
}

void Inbox::State::hand_over(std::unique_lock<std::mutex>& lock, PostedReceive& receive,
                             ArrivedMessage message) {
  const bool fits = message.header.bytes == receive.tensor.bytes();
  if (copy_in && (message.host_buffer || message.header.shared_buffer != 0) && fits)
    return move_to_host_buffer(receive, std::move(message));
  if (message.host_buffer && fits) {
    receive.phase = Phase::filling;
    lock.unlock();
    copy(receive, std::move(message));
    lock.lock();
    return;
  }
  if (message.host_buffer) buffers.give_back(std::move(message.host_buffer));
  end(receive, message, message.arrived_s);
}

void Inbox::State::copy(PostedReceive& receive, ArrivedMessage message) {
  HostStaging& staging = buffers.staging();
  try {
    staging.copy_in(message.host_buffer, receive.tensor, std::max(message.arrived_s, receive.posted_s));
    if (copies) {
      {
        const std::lock_guard lock(mutex);
        receive.phase = Phase::copying;
        receive.copied = message.host_buffer.copied.get();
      }
      signal.notify();
    }
    const double arrived_s = staging.finish(message.host_buffer, kernels::Deadline::after_s(kCopyDeadline_s));
    const std::lock_guard lock(mutex);
    end(receive, message, arrived_s);
  } catch (...) {
    const std::lock_guard lock(mutex);
    receive.fail(failure_of(std::current_exception()));
    receive.copied = nullptr;
    changed.notify_all();
    signal.notify();
  }
  staging.give_back(std::move(message.host_buffer));
}

/// A message that came before or while its receive was posted is in a shared buffer, or in a host buffer of its own.
void Inbox::State::move_to_host_buffer(PostedReceive& receive, ArrivedMessage message) {
  const std::uint64_t shared_id = message.header.shared_buffer;
  const std::size_t bytes = receive.tensor.bytes();
  if (shared_id != 0 && shared_id != receive.host_buffer.shared_id) {
    buffers.copy_from_shared(shared_id, receive.host_buffer.memory(bytes));
    buffers.release_shared(shared_id, receive.tag, receive.number);
  }
  if (shared_id == 0 && receive.tickets.count == 0 && receive.host_buffer.shared_id == 0) {
    std::swap(receive.host_buffer, message.host_buffer);
  } else if (shared_id == 0) {
    std::memcpy(receive.host_buffer.buffer->data(), message.host_buffer.buffer->data(), bytes);
    buffers.count_copied(bytes);
  }
  if (message.host_buffer) buffers.give_back(std::move(message.host_buffer));
  end(receive, message, message.arrived_s);
}

void Inbox::State::receive_piece(PostedReceive& receive) {
  const std::uint32_t index = receive.pieces_here++;
  if (index < receive.tickets.count) copy_in->mark_arrived(receive.tickets.first + index);
  if (index == 0) signal.notify();
}

void Inbox::State::end(PostedReceive& receive, const ArrivedMessage& message, double arrived_s) {
  receive.copied = nullptr;
  if (failure && receive.tickets.count != 0) {  // its copy did not wait to the end
    receive.fail(*failure);
  } else if (message.header.bytes == receive.tensor.bytes()) {
    receive.phase = copy_in ? Phase::received : Phase::done;
    receive.timing = {message.header.started_s, arrived_s};
  } else {
    receive.fail({kernels::Scope::link, unequal_counts(receive.describe(), peer, message.header.bytes, me)});
  }
  while (receive.pieces_here < receive.tickets.count) receive_piece(receive);
  changed.notify_all();
  signal.notify();
}

void Inbox::State::fail(const Failure& reason) {
  const std::lock_guard lock(mutex);
  if (failure) return;
  failure = reason;
  matching.fail(reason);
  if (copy_in) copy_in->cancel();
  changed.notify_all();
  signal.notify();
}

void Inbox::State::fail_cancelled(PostedReceive& receive) {
  if (receive.phase != Phase::waiting) return;
  matching.remove(receive.key());
  receive.fail({kernels::Scope::link, receive.describe() + ": given up"});
}

void Inbox::State::cancel(PostedReceive& receive) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] {
    fail_cancelled(receive);  // it may wait again, for a connection that is made anew
    return receive.phase == Phase::done || receive.phase == Phase::failed;
  });
}

void Inbox::State::close() {
  copier_.reset();
  fail({kernels::Scope::link, "the link between " + me + " and " + peer + " was closed"});
  copy_in.reset();
  const std::lock_guard lock(mutex);
  assert(!matching.has_arrivals() && "readers end before the inbox");
  matching.drop_early();
  buffers.close();
}

}  // namespace tenax::comm
