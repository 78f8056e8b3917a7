#include "resilience/faults/injected_connection.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "comm/poll.hpp"
#include "comm/signal.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

void ConnectionRegistry::add(InjectedConnection& connection) {
  const std::lock_guard lock(mutex_);
  connections_.insert(&connection);
}

void ConnectionRegistry::remove(InjectedConnection& connection) {
  const std::lock_guard lock(mutex_);
  connections_.erase(&connection);
}

void ConnectionRegistry::cut_what_is_down() {
  const std::lock_guard lock(mutex_);
  for (InjectedConnection* connection : connections_) connection->cut_if_down();
}

// Registered before the first look: a step that begins meanwhile cuts it, or the look sees that step's
// faults.
InjectedConnection::InjectedConnection(std::unique_ptr<comm::Connection> inner, ConnectionUse use,
                                       LinkFaults& faults, ConnectionRegistry& registry)
    : ForwardingConnection(std::move(inner)), use_(use), faults_(faults), registry_(registry) {
  registry_.add(*this);
  cut_if_down();
}

InjectedConnection::~InjectedConnection() { registry_.remove(*this); }

void InjectedConnection::send(const comm::MessageHeader& header, std::span<const std::byte> payload,
                              Deadline deadline) {
  check_path();
  const auto now = LinkFaults::Clock::now();
  comm::MessageHeader stamped = header;
  // The delay is part of the transmission, so nothing below may set this later.
  if (stamped.started_s == 0)
    stamped.started_s = std::chrono::duration<double>(now.time_since_epoch()).count();
  hold(now + faults_.delay(use_.rank, use_.peer, header.bytes, now), deadline);
  try {
    inner().send(stamped, payload, deadline);
  } catch (const Error&) {
    throw_if_cut();
    throw;
  }
  count(LinkFaults::Passed::sent);
}

std::optional<comm::MessageHeader> InjectedConnection::receive(Deadline deadline) {
  check_path();
  try {
    const auto header = inner().receive(deadline);
    if (header && header->payload_bytes == 0) count(LinkFaults::Passed::received);
    return header;
  } catch (const Error&) {
    throw_if_cut();
    throw;
  }
}

void InjectedConnection::receive_payload(std::span<std::byte> payload, Deadline deadline) {
  check_path();
  try {
    inner().receive_payload(payload, deadline);
  } catch (const Error&) {
    throw_if_cut();
    throw;
  }
  count(LinkFaults::Passed::received);
}

void InjectedConnection::shut_down() noexcept {
  inner().shut_down();
  comm::change_and_notify(mutex_, ended_, [this] { is_shut_ = true; });
}

// It may be the last one that passes.
void InjectedConnection::count(LinkFaults::Passed how) {
  if (!use_.direct) return;
  faults_.count_direct(use_.rank, use_.peer, how);
  if (faults_.is_down(use_.rank, use_.peer, {.direct = true})) registry_.cut_what_is_down();
}

void InjectedConnection::cut_if_down() {
  if (!faults_.is_down(use_.rank, use_.peer, {use_.direct, inner().address()})) return;
  {
    const std::lock_guard lock(mutex_);
    is_cut_ = true;
  }
  shut_down();
}

void InjectedConnection::check_path() {
  cut_if_down();
  throw_if_cut();
}

bool InjectedConnection::is_cut() const {
  const std::lock_guard lock(mutex_);
  return is_cut_;
}

void InjectedConnection::hold(LinkFaults::Clock::time_point release, Deadline deadline) {
  const comm::Stopwatch stopwatch;
  std::unique_lock lock(mutex_);
  if (LinkFaults::Clock::now() < release) {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // else Linux may wake this thread 50 us late
    ended_.wait_until(lock, std::min(release, deadline.when()), [this] { return is_shut_; });
  }
  const bool is_shut = is_shut_;
  lock.unlock();
  throw_if_cut();
  if (is_shut) throw Error(Scope::link, describe() + ": was shut down while a message was held");
  if (LinkFaults::Clock::now() >= release) return;
  throw Error(Scope::link, describe() + ": a message was not sent within " +
                               std::to_string(stopwatch.elapsed_s()) +
                               " s: its delay is longer; raise comm.deadline_s");
}

void InjectedConnection::throw_if_cut() const {
  if (is_cut()) throw Error(Scope::link, describe() + ": the path is down (injected: see [[inject]])");
}

}  // namespace tenax::resilience
