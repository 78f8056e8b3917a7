// Lobby: where connections that peers have made wait to be accepted.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "comm/connection.hpp"
#include "comm/transport/greeting.hpp"

namespace tenax::comm {

/// Thread rule: any thread.
class Lobby {
 public:
  /// A connection that waits for the same is replaced: its maker has given it up.
  void enter(Identity from, const std::string& purpose, std::unique_ptr<Connection> connection);
  /// Null if the deadline came first.
  std::unique_ptr<Connection> fetch(Identity from, const std::string& purpose, kernels::Deadline deadline);

 private:
  using Key = std::pair<Identity, std::string>;
  std::mutex mutex_;
  std::condition_variable entered_;
  std::map<Key, std::unique_ptr<Connection>> waiting_;
};

}  // namespace tenax::comm
