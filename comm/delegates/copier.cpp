#include "comm/delegates/copier.hpp"

namespace tenax::comm {

Copier::Copier(kernels::Device& device, int slots, double deadline_s, Events events)
    : device_(device), staging_(device), deadline_s_(deadline_s), events_(std::move(events)), slots_(slots) {}

void Copier::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  worker_.reset();
}

void Copier::set_slots(int slots) {
  {
    const std::lock_guard lock(mutex_);
    slots_ = slots;
  }
  changed_.notify_all();
}

void Copier::add(OutgoingPtr message) {
  worker_->add([this, message = std::move(message)] {
    try {
      if (wait_for_slot()) copy(message);
    } catch (...) {
      events_.failed(failure_of(std::current_exception()));
    }
  });
}

/// False when the copier is being closed. Slots come back as the peer acknowledges, however late: the sender's own wait
/// has the deadline.
bool Copier::wait_for_slot() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stopped_ || used_ < slots_; });
  if (is_stopped_) return false;
  ++used_;
  return true;
}

void Copier::copy(const OutgoingPtr& message) {
  if (!message->begin_reading()) {
    events_.failed({kernels::Scope::link, "a send was given up before it was done"});
    return;
  }
  const kernels::Deadline deadline = kernels::Deadline::after_s(deadline_s_);
  try {
    message->slot = staging_.take(message->header.payload_bytes);
    staging_.copy_out(message->slot, message->tensor, *message->ready, deadline);
    const double copied_s = staging_.finish(message->slot, deadline);
    if (!device_.has_data()) message->ready_s = copied_s;
  } catch (...) {
    message->end_reading();
    throw;
  }
  message->payload = message->slot.memory(message->header.payload_bytes);
  message->release();
  message->end_reading();
  events_.copied(message);
}

void Copier::give_back(OutgoingMessage& message) {
  staging_.give_back(std::move(message.slot));
  {
    const std::lock_guard lock(mutex_);
    --used_;
  }
  changed_.notify_all();
}

}  // namespace tenax::comm
