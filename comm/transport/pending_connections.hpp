// PendingConnections: connections that peers have made and this rank has not accepted yet.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "comm/connection.hpp"
#include "comm/transport/accepted_connections.hpp"

namespace tenax::comm {

/// All are from processes of this job (acceptor.hpp), one for each of their purposes. This rank is
/// going to accept each, perhaps much later: a connection waits as long as its maker holds the
/// other end. One that its maker has closed is dropped after 5 s, when another comes; sooner where
/// kMostWaiting are there, the oldest first. Beyond that, makers have to come again.
///
/// Thread rule: any thread.
class PendingConnections {
 public:
  static constexpr std::size_t kMostWaiting = 16;

  bool has_room(Identity from, const std::string& purpose);
  /// Replaces a connection for the same purpose, which its maker has closed, or is going to. If this
  /// rank has accepted that, it is shut down.
  void add(Identity from, const std::string& purpose, std::unique_ptr<Connection> connection);
  /// Null if the deadline came first.
  std::unique_ptr<Connection> take(Identity from, const std::string& purpose, kernels::Deadline deadline);

 private:
  using Key = AcceptedConnections::Key;
  struct Waiting {
    std::unique_ptr<Connection> connection;
    kernels::Deadline stays_until = kernels::Deadline::after_s(0);  ///< even if its other end is closed
  };
  void drop_closed();
  void drop_oldest_closed();

  std::mutex mutex_;
  std::condition_variable added_;
  std::map<Key, Waiting> waiting_;
  const std::shared_ptr<AcceptedConnections> accepted_ = std::make_shared<AcceptedConnections>();
};

}  // namespace tenax::comm
