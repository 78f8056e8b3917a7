#include "comm/delegates/outgoing_message.hpp"

#include "comm/signal.hpp"

namespace tenax::comm {

bool OutgoingMessage::begin_reading() {
  const std::lock_guard lock(mutex_);
  if (is_cancelled_) return false;
  is_read_ = true;
  return true;
}

void OutgoingMessage::end_reading() {
  change_and_notify(mutex_, changed_, [this] { is_read_ = false; });
}

void OutgoingMessage::release() {
  const std::lock_guard lock(mutex_);
  is_released_ = true;
}

bool OutgoingMessage::is_released() const {
  const std::lock_guard lock(mutex_);
  return is_released_;
}

void OutgoingMessage::mark_arrived() {
  const std::lock_guard lock(mutex_);
  has_arrived_ = true;
}

bool OutgoingMessage::has_arrived() const {
  const std::lock_guard lock(mutex_);
  return has_arrived_;
}

void OutgoingMessage::cancel() {
  std::unique_lock lock(mutex_);
  if (is_released_) return;
  is_cancelled_ = true;
  changed_.wait(lock, [&] { return !is_read_; });
}

}  // namespace tenax::comm
