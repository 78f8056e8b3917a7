#include "comm/transport/pending_connections.hpp"

#include "comm/signal.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr double kPatience_s = 5;  // with a maker that has left: what it sent before may still be wanted

bool is_closed(const Connection& connection) {
  try {
    connection.check();
    return false;
  } catch (const kernels::Error&) {
    return true;
  }
}

}  // namespace

bool PendingConnections::has_room(Identity from, const std::string& purpose) {
  const std::lock_guard lock(mutex_);
  drop_closed();
  return waiting_.size() < kMostWaiting || waiting_.contains(Key(from, purpose));
}

void PendingConnections::add(Identity from, const std::string& purpose,
                             std::unique_ptr<Connection> connection) {
  Waiting newest{std::move(connection), kernels::Deadline::after_s(kPatience_s)};
  // What it replaces ends without the lock.
  change_and_notify(mutex_, added_, [&] { std::swap(waiting_[Key(from, purpose)], newest); });
}

std::unique_ptr<Connection> PendingConnections::take(Identity from, const std::string& purpose,
                                                     kernels::Deadline deadline) {
  const Key key(from, purpose);
  std::unique_lock lock(mutex_);
  if (!added_.wait_until(lock, deadline.when(), [&] { return waiting_.contains(key); })) return nullptr;
  std::unique_ptr<Connection> connection = std::move(waiting_[key].connection);
  waiting_.erase(key);
  return connection;
}

void PendingConnections::drop_closed() {
  std::erase_if(waiting_, [](const auto& entry) {
    return entry.second.stays_until.expired() && is_closed(*entry.second.connection);
  });
}

}  // namespace tenax::comm
