#include "comm/transport/lobby.hpp"

#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr double kPatience_s = 5;  // with a maker that has left: what it sent before may still be wanted

bool is_abandoned(const Connection& connection) {
  try {
    connection.check();
    return false;
  } catch (const kernels::Error&) {
    return true;
  }
}

}  // namespace

bool Lobby::has_room(Identity from, const std::string& purpose) {
  const std::lock_guard lock(mutex_);
  drop_abandoned();
  return waiting_.size() < kMostWaiting || waiting_.contains(Key(from, purpose));
}

void Lobby::enter(Identity from, const std::string& purpose, std::unique_ptr<Connection> connection) {
  Waiting newest{std::move(connection), kernels::Deadline::after_s(kPatience_s)};
  {
    const std::lock_guard lock(mutex_);
    std::swap(waiting_[Key(from, purpose)], newest);  // the other ends without the lock
  }
  entered_.notify_all();
}

std::unique_ptr<Connection> Lobby::fetch(Identity from, const std::string& purpose,
                                         kernels::Deadline deadline) {
  const Key key(from, purpose);
  std::unique_lock lock(mutex_);
  if (!entered_.wait_until(lock, deadline.when(), [&] { return waiting_.contains(key); })) return nullptr;
  std::unique_ptr<Connection> connection = std::move(waiting_[key].connection);
  waiting_.erase(key);
  return connection;
}

void Lobby::drop_abandoned() {
  std::erase_if(waiting_, [](const auto& entry) {
    return entry.second.stays_until.expired() && is_abandoned(*entry.second.connection);
  });
}

}  // namespace tenax::comm
