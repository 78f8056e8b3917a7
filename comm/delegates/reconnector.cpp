#include "comm/delegates/reconnector.hpp"

#include <algorithm>

#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "comm/signal.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr double kAcceptSlice_s = 0.05;  // how soon close() is noticed while accepting
constexpr double kPause_s = 0.02;        // from one attempt to connect to the next

kernels::Deadline earlier_of(kernels::Deadline deadline, double seconds) {
  const std::chrono::duration<double> left = deadline.when() - kernels::Deadline::Clock::now();
  return kernels::Deadline::after_s(std::clamp(left.count(), 0.0, seconds));
}

}  // namespace

std::shared_ptr<Connection> Reconnector::next() {
  close_current();
  const Stopwatch stopwatch;
  const kernels::Deadline deadline = kernels::Deadline::after_s(parties_.deadline_s);
  std::string reason;
  for (;;) {
    pause_until(earliest_);  // also for a connection that breaks as soon as it is made
    if (is_closed()) return nullptr;
    earliest_ = kernels::Deadline::after_s(parties_.connects() ? kPause_s : 0);
    try {
      return set_current(attempt(deadline));
    } catch (const kernels::Error& error) {
      reason = error.what();
      ++address_;
    }
    if (deadline.expired())
      throw kernels::Error(kernels::Scope::link,
                           timeout_sentence("delegated link " + parties_.name + ", connection " + purpose_,
                                            parties_.me.name, stopwatch.elapsed_s(), parties_.peer.name) +
                               " (last attempt: " + reason + ")");
  }
}

void Reconnector::pause_until(kernels::Deadline when) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, when.when(), [&] { return closed_; });
}

/// A dead address must not use up the time of the others.
std::unique_ptr<Connection> Reconnector::attempt(kernels::Deadline deadline) {
  const Peer& peer = parties_.peer;
  if (!parties_.connects())
    return parties_.transport.accept(peer, purpose_, earlier_of(deadline, kAcceptSlice_s));
  if (peer.addresses.empty())
    throw kernels::Error(kernels::Scope::link, peer.name + " has told no address that this rank can reach");
  const double slice_s = std::clamp(parties_.deadline_s / 8, 0.2, 2.0);
  return parties_.transport.connect(peer, peer.addresses[address_ % peer.addresses.size()], purpose_,
                                    earlier_of(deadline, slice_s));
}

std::shared_ptr<Connection> Reconnector::set_current(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (closed_) return nullptr;
  current_ = std::move(connection);
  ++made_;
  return current_;
}

void Reconnector::close_current() {
  const std::lock_guard lock(mutex_);
  if (!current_) return;
  current_->shut_down();
  current_.reset();
  ++address_;
}

void Reconnector::close() noexcept {
  change_and_notify(mutex_, changed_, [this] {
    closed_ = true;
    if (current_) current_->shut_down();
  });
}

bool Reconnector::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

int Reconnector::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

}  // namespace tenax::comm
