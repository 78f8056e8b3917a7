#include "comm/transport/lobby.hpp"

namespace tenax::comm {

void Lobby::enter(Identity from, const std::string& purpose, std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    waiting_[Key(from, purpose)].swap(connection);
  }
  entered_.notify_all();
}

std::unique_ptr<Connection> Lobby::fetch(Identity from, const std::string& purpose,
                                         kernels::Deadline deadline) {
  const Key key(from, purpose);
  std::unique_lock lock(mutex_);
  if (!entered_.wait_until(lock, deadline.when(), [&] { return waiting_.contains(key); })) return nullptr;
  std::unique_ptr<Connection> connection = std::move(waiting_[key]);
  waiting_.erase(key);
  return connection;
}

}  // namespace tenax::comm
