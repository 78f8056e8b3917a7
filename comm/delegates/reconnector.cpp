#include "comm/delegates/reconnector.hpp"

#include <algorithm>
#include <utility>

#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "comm/signal.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::steady_now_s;

constexpr double kAcceptSlice_s = 0.05;  // how soon close() is noticed while accepting
constexpr double kPause_s = 0.02;        // from one attempt to connect to the next
constexpr double kLook_s = 0.25;         // from one look for a better way to the next
constexpr double kRest_s = 1;     // from one attempt for another way to the present address to the next
constexpr double kTrial_s = 0.2;  // for a better connection that is being made when the present one breaks

Deadline earlier_of(Deadline deadline, double seconds) {
  const std::chrono::duration<double> left = deadline.when() - Deadline::Clock::now();
  return Deadline::after_s(std::clamp(left.count(), 0.0, seconds));
}

}  // namespace

Reconnector::Reconnector(const LinkParties& parties, std::string purpose)
    : parties_(parties), purpose_(std::move(purpose)), choice_(parties.peer.addresses.size()) {}

Reconnector::~Reconnector() {
  close();
  if (improver_.joinable()) improver_.join();
}

std::shared_ptr<Connection> Reconnector::next() {
  if (auto better = take_better()) return better;
  close_current();
  const Stopwatch stopwatch;
  const Deadline deadline = Deadline::after_s(parties_.deadline_s);
  std::string reason;
  for (;;) {
    pause_until(earliest_);  // also for a connection that breaks as soon as it is made
    if (is_closed()) return nullptr;
    earliest_ = Deadline::after_s(parties_.connects() ? kPause_s : 0);
    try {
      return make(deadline);
    } catch (const kernels::Error& error) {
      reason = error.what();
    }
    if (deadline.expired())
      throw kernels::Error(kernels::Scope::link,
                           timeout_sentence("delegated link " + parties_.name + ", connection " + purpose_,
                                            parties_.me.name, stopwatch.elapsed_s(), parties_.peer.name) +
                               " (last attempt: " + reason + ")");
  }
}

void Reconnector::pause_until(Deadline when) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, when.when(), [&] { return closed_; });
}

std::shared_ptr<Connection> Reconnector::make(Deadline deadline) {
  if (!parties_.connects())
    return set_current(
        parties_.transport.accept(parties_.peer, purpose_, earlier_of(deadline, kAcceptSlice_s)), 0);
  if (parties_.peer.addresses.empty())
    throw kernels::Error(kernels::Scope::link,
                         parties_.peer.name + " has told no address that this rank can reach");
  std::unique_lock lock(mutex_);
  const std::size_t address = choice_.next(steady_now_s());
  lock.unlock();
  auto connection = connect(address, deadline);
  return set_current(std::move(connection), address);
}

/// A dead address must not use up the time of the others.
std::unique_ptr<Connection> Reconnector::connect(std::size_t address, Deadline deadline) {
  const double slice_s = std::clamp(parties_.deadline_s / 8, 0.2, 2.0);
  try {
    auto connection = parties_.transport.connect(parties_.peer, parties_.peer.addresses[address], purpose_,
                                                 earlier_of(deadline, slice_s));
    const std::lock_guard lock(mutex_);
    choice_.worked(address, steady_now_s());
    return connection;
  } catch (const kernels::Error&) {
    const std::lock_guard lock(mutex_);
    const bool is_in_use = current_ && address == address_;  // another way to it has failed
    if (!is_in_use) choice_.failed(address, steady_now_s());
    if (is_in_use) rests_until_s_ = steady_now_s() + kRest_s;
    throw;
  }
}

std::shared_ptr<Connection> Reconnector::set_current(std::unique_ptr<Connection> connection,
                                                     std::size_t address) {
  std::unique_lock lock(mutex_);
  if (closed_) return nullptr;
  current_ = std::move(connection);
  address_ = address;
  ++made_;
  if (!parties_.connects() || is_improving_ || !can_improve()) return current_;
  is_improving_ = true;
  auto made = current_;
  lock.unlock();
  if (improver_.joinable()) improver_.join();  // it has ended
  improver_ = start_prompt_thread([this] { improve(); });
  return made;
}

/// The present connection may have been shut down by its other end, which has the better one already.
std::shared_ptr<Connection> Reconnector::take_better() {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, Deadline::after_s(kTrial_s).when(), [&] { return !is_trying_ || closed_; });
  if (!better_) return nullptr;
  auto better = std::move(better_);
  lock.unlock();
  return set_current(std::move(better), better_address_);
}

/// A transport that knows why a connection broke has other ways to the same address, or refuses the next attempt.
void Reconnector::close_current() {
  const std::lock_guard lock(mutex_);
  if (!current_) return;
  if (parties_.connects() && current_->break_reason().empty()) choice_.failed(address_, steady_now_s());
  current_->shut_down();
  current_.reset();
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

/// Whether there is a better way than the present connection's, or will be. The next four: with the lock held.
bool Reconnector::can_improve() const {
  return !current_ || address_ > 0 || current_->better_way() != BetterWay::none;
}

std::optional<std::size_t> Reconnector::better_address() const {
  if (!current_ || better_) return std::nullopt;
  if (const auto address = choice_.better_than(address_, steady_now_s())) return address;
  const bool may_try = steady_now_s() >= rests_until_s_ && current_->better_way() == BetterWay::now;
  return may_try ? std::optional(address_) : std::nullopt;
}

/// The thread's, as long as there is something to improve.
void Reconnector::improve() {
  std::unique_lock lock(mutex_);
  while (!closed_ && can_improve()) {
    if (const auto address = better_address())
      try_better(lock, *address);
    else
      changed_.wait_until(lock, Deadline::after_s(kLook_s).when(), [&] { return closed_; });
  }
  is_improving_ = false;
}

void Reconnector::try_better(std::unique_lock<std::mutex>& lock, std::size_t address) {
  const std::shared_ptr<Connection> present = current_;
  const std::size_t address_of_present = address_;
  is_trying_ = true;
  lock.unlock();
  if (address == address_of_present) present->demand_better();
  std::unique_ptr<Connection> better;
  try {
    better = connect(address, Deadline::after_s(parties_.deadline_s));
  } catch (const kernels::Error&) {
    // The present one stays.
  }
  lock.lock();
  is_trying_ = false;
  if (better && !closed_ && current_ == present) {
    better_ = std::move(better);
    better_address_ = address;
    present->shut_down();  // whoever reads on it calls next()
  }
  changed_.notify_all();
  lock.unlock();
  better.reset();  // where nobody wants it any more
  lock.lock();
}

}  // namespace tenax::comm
