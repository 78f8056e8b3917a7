#include "comm/transport/pending_connections.hpp"

#include <poll.h>

#include <algorithm>

#include "comm/polled_stream.hpp"
#include "comm/signal.hpp"
#include "kernels/error.hpp"
#include "kernels/open_files.hpp"

namespace tenax::comm {
namespace {

constexpr double kPatience_s = 5;  // with a maker that has left: what it sent before may still be wanted
constexpr std::size_t kShareOfDescriptors = 8;  // the part of a process's: a connection has up to four

/// Even if something that its maker sent is still to be read.
bool is_closed(Connection& connection) try {
  connection.check();
  if (!connection.stream()) return false;
  pollfd entry{connection.stream()->socket(), POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0;
} catch (const kernels::Error&) {
  return true;
}

}  // namespace

bool PendingConnections::has_room(Identity from, const std::string& purpose) {
  const std::lock_guard lock(mutex_);
  if (waiting_.contains(Key(from, purpose))) return true;
  drop_closed();
  return has_room_for([from](const Key& key) { return key.first == from; }, kMostOfPeer) &&
         has_room_for([](const Key&) { return true; }, most_);
}

bool PendingConnections::has_room_for(const Which& which, std::size_t most) {
  if (count(which) >= most) drop_oldest_closed(which);
  return count(which) < most;
}

std::size_t PendingConnections::count(const Which& which) const {
  return static_cast<std::size_t>(
      std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& entry) { return which(entry.first); }));
}

std::size_t PendingConnections::most_by_descriptors() {
  return std::max(kMostOfPeer, kernels::open_files_limit() / kShareOfDescriptors);
}

void PendingConnections::add(Identity from, const std::string& purpose,
                             std::unique_ptr<Connection> connection) {
  Waiting newest{std::move(connection), kernels::Deadline::after_s(kPatience_s)};
  const Key key(from, purpose);
  accepted_->end(key);  // before anybody accepts the newest
  // What it replaces ends without the lock.
  change_and_notify(mutex_, added_, [&] { std::swap(waiting_[key], newest); });
}

std::unique_ptr<Connection> PendingConnections::take(Identity from, const std::string& purpose,
                                                     kernels::Deadline deadline) {
  const Key key(from, purpose);
  std::unique_lock lock(mutex_);
  if (!added_.wait_until(lock, deadline.when(), [&] { return waiting_.contains(key); })) return nullptr;
  std::unique_ptr<Connection> connection = std::move(waiting_[key].connection);
  waiting_.erase(key);
  return accepted_->hold(key, std::move(connection));
}

void PendingConnections::drop_closed() {
  std::erase_if(waiting_, [](const auto& entry) {
    return entry.second.stays_until.expired() && is_closed(*entry.second.connection);
  });
}

/// Makers that change their minds quickly (each epoch of replicas has a ring of its own) do not fill the room.
void PendingConnections::drop_oldest_closed(const Which& which) {
  auto oldest = waiting_.end();
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it)
    if (which(it->first) && is_closed(*it->second.connection) &&
        (oldest == waiting_.end() || it->second.stays_until.when() < oldest->second.stays_until.when()))
      oldest = it;
  if (oldest != waiting_.end()) waiting_.erase(oldest);
}

}  // namespace tenax::comm
