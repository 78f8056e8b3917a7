// AcceptedConnections: the connections that this rank has accepted and still holds. Who connects
// again for the same purpose has given up the one before, which this end might never learn from a
// path that is silent.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "comm/connection.hpp"
#include "comm/transport/connection_request.hpp"

namespace tenax::comm {

/// Thread rule: any thread.
class AcceptedConnections : public std::enable_shared_from_this<AcceptedConnections> {
 public:
  using Key = std::pair<Identity, std::string>;  ///< who made it, for what

  /// The connection, which is known by its key from now on, as long as it lives.
  std::unique_ptr<Connection> hold(const Key& key, std::unique_ptr<Connection> connection);
  /// Shuts down the one of that key, if there is one.
  void end(const Key& key);

 private:
  class Held;
  std::mutex mutex_;
  std::map<Key, Held*> held_;  // the newest
};

}  // namespace tenax::comm
