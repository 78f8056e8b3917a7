// WatchedTransport: a transport that tells when a connection goes on over another way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "comm/forwarding_transport.hpp"

namespace tenax::comm {

/// What was sent for one purpose goes another way than before.
struct Reroute {
  int peer = 0;          ///< world rank of the other end
  std::string from, to;  ///< Connection::way()
  /// Connection::break_reason(); "healed" where the first connection had not broken, but a better one
  /// was made.
  std::string reason;
  /// From the last message that arrived by the first way to the first one by the other, at this end or, as acknowledged, at
  /// the other. Where nothing was left to arrive: from the end of the first connection to the next.
  double seconds = 0;
  std::uint64_t resent = 0;  ///< messages that this rank had sent before
};

/// Between ranks of one replica, at the end that connects. Thread rule: any thread.
class WatchedTransport final : public ForwardingTransport {
 public:
  /// Called without locks held, once a message has come over the new way, or everything that this end had sent before the
  /// change is known to have arrived (Connection::note_delivered).
  using OnReroute = std::function<void(const Reroute&)>;

  WatchedTransport(std::unique_ptr<Transport> inner, OnReroute on_reroute)
      : ForwardingTransport(std::move(inner)), on_reroute_(std::move(on_reroute)) {}

  std::unique_ptr<Connection> connect(const Peer& peer, const std::string& address,
                                      const std::string& purpose, kernels::Deadline deadline) override;

 private:
  class Route;
  class Watched;
  std::shared_ptr<Route> route_to(int peer, const std::string& purpose);

  const OnReroute on_reroute_;
  std::mutex mutex_;
  std::map<std::pair<int, std::string>, std::shared_ptr<Route>> routes_;
};

}  // namespace tenax::comm
