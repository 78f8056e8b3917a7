#include "resilience/faults/injected_peer_stream.hpp"

#include <algorithm>
#include <chrono>

namespace tenax::resilience {

std::size_t InjectedPeerStream::write_some(std::span<const std::byte> head, std::span<const std::byte> tail) {
  const std::size_t bytes = head.size() + tail.size();
  if (left_ == 0) {
    left_ = bytes;
    release_ = Clock::now() + faults_.delay(peer_, left_);
  }
  if (Clock::now() < held_until()) return 0;
  const std::size_t written = inner_.write_some(head, tail);
  if (bytes == left_) left_ -= written;  // else a sign of life goes before the message that is held
  return written;
}

std::size_t InjectedPeerStream::read_some(std::span<std::byte> bytes) {
  return faults_.is_dark(peer_) ? 0 : inner_.read_some(bytes);
}

std::span<const std::byte> InjectedPeerStream::peek() {
  return faults_.is_dark(peer_) ? std::span<const std::byte>() : inner_.peek();
}

// In the dark not even the end of the connection is seen.
bool InjectedPeerStream::prepare_to_sleep(bool wants_room, std::vector<pollfd>& polled) {
  return faults_.is_dark(peer_) || inner_.prepare_to_sleep(wants_room && Clock::now() >= release_, polled);
}

double InjectedPeerStream::held_until_s() const {
  return std::chrono::duration<double>(held_until().time_since_epoch()).count();
}

InjectedPeerStream::Clock::time_point InjectedPeerStream::held_until() const {
  return std::max(release_, faults_.light_at(peer_));
}

}  // namespace tenax::resilience
