// PendingConnections: where connections that peers have made wait to be accepted.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "comm/connection.hpp"
#include "comm/transport/connection_request.hpp"

namespace tenax::comm {

/// Only processes of this job come here (acceptor.hpp), one connection for each of their purposes, and each is one that this
/// rank is going to accept, perhaps much later. So a connection waits as long as its maker holds the other end: after 5 s one
/// whose maker has left is dropped as soon as another comes. Makers of more than kMostWaiting have to come again.
///
/// Thread rule: any thread.
class PendingConnections {
 public:
  static constexpr std::size_t kMostWaiting = 16;

  bool has_room(Identity from, const std::string& purpose);
  /// A connection that waits for the same is replaced: its maker has given it up.
  void add(Identity from, const std::string& purpose, std::unique_ptr<Connection> connection);
  /// Null if the deadline came first.
  std::unique_ptr<Connection> take(Identity from, const std::string& purpose, kernels::Deadline deadline);

 private:
  using Key = std::pair<Identity, std::string>;
  struct Waiting {
    std::unique_ptr<Connection> connection;
    kernels::Deadline stays_until = kernels::Deadline::after_s(0);  ///< whoever holds its other end
  };
  void drop_closed();

  std::mutex mutex_;
  std::condition_variable added_;
  std::map<Key, Waiting> waiting_;
};

}  // namespace tenax::comm
