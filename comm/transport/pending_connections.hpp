// PendingConnections: connections that peers have made and this rank has not accepted yet.
#pragma once

#include <condition_variable>
#include <functional>
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
/// there is no room, the oldest first. Beyond that, makers have to come again.
///
/// Each peer has room for kMostOfPeer, as it has proven who it is: none keeps another one out. Only where the process
/// has too few descriptors for all of them do they share what there is.
///
/// Thread rule: any thread.
class PendingConnections {
 public:
  static constexpr std::size_t kMostOfPeer = 32;  // of a ring of replicas 16, and others beside it

  /// `most`: of all peers together.
  explicit PendingConnections(std::size_t most = most_by_descriptors()) : most_(most) {}

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
  using Which = std::function<bool(const Key& key)>;
  static std::size_t most_by_descriptors();
  /// Whether there are fewer of `which` than `most`, the oldest closed one left out if need be.
  bool has_room_for(const Which& which, std::size_t most);
  std::size_t count(const Which& which) const;
  void drop_closed();
  void drop_oldest_closed(const Which& which);

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::map<Key, Waiting> waiting_;
  const std::shared_ptr<AcceptedConnections> accepted_ = std::make_shared<AcceptedConnections>();
};

}  // namespace tenax::comm
