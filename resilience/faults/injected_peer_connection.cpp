#include "resilience/faults/injected_peer_connection.hpp"

#include <algorithm>
#include <utility>

#include "comm/signal.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

void InjectedPeerConnection::send(const comm::MessageHeader& header, std::span<const std::byte> payload,
                                  Deadline deadline) {
  const auto release = Clock::now() + faults_.delay(peer_, sizeof header + payload.size());
  must_wait_until(std::max(release, faults_.light_at(peer_)), deadline);
  inner().send(header, payload, deadline);
}

std::optional<comm::MessageHeader> InjectedPeerConnection::receive(Deadline deadline) {
  if (!waits_for_light(deadline)) return std::nullopt;
  if (!arrived_) arrived_ = inner().receive(deadline);
  if (!waits_for_light(deadline)) return std::nullopt;
  return std::exchange(arrived_, std::nullopt);
}

void InjectedPeerConnection::receive_payload(std::span<std::byte> payload, Deadline deadline) {
  must_wait_until(faults_.light_at(peer_), deadline);
  inner().receive_payload(payload, deadline);
}

comm::PolledStream* InjectedPeerConnection::stream() {
  if (comm::PolledStream* const whole = stream_ ? nullptr : inner().stream())
    stream_.emplace(*whole, peer_, faults_);
  return stream_ ? &*stream_ : nullptr;
}

void InjectedPeerConnection::shut_down() noexcept {
  inner().shut_down();
  comm::change_and_notify(mutex_, ended_, [this] { is_shut_ = true; });
}

bool InjectedPeerConnection::waits_until(Clock::time_point when, Deadline deadline) {
  if (Clock::now() >= when) return true;
  std::unique_lock lock(mutex_);
  if (ended_.wait_until(lock, std::min(when, deadline.when()), [this] { return is_shut_; }))
    throw Error(Scope::link, describe() + ": was shut down");
  return Clock::now() >= when;
}

void InjectedPeerConnection::must_wait_until(Clock::time_point when, Deadline deadline) {
  if (!waits_until(when, deadline))
    throw Error(Scope::link,
                describe() + ": no message passed before the deadline (injected: see [[inject]])");
}

}  // namespace tenax::resilience
