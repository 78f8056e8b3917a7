// PathBook: what a rank knows of the ways to its peers over RDMA, and the connections that have to
// hear of it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "comm/connection.hpp"
#include "comm/transport/connection_request.hpp"
#include "comm/verbs/path_health.hpp"
#include "comm/verbs/peer_notice.hpp"
#include "comm/verbs/port_address.hpp"

namespace tenax::comm::verbs {

/// Which of the connections to a peer it is.
struct PathSeat {
  Identity peer;
  ConnectionEnd end = ConnectionEnd::connecting;  ///< this one
  std::string purpose;
  std::size_t turn = 0;  ///< port_pairs'; equal at both ends
};

/// An open connection, as the book sees it. Thread rule: any thread; neither call waits, or calls
/// the book.
class PathUser {
 public:
  virtual ~PathUser() = default;
  virtual const Path& path() const = 0;
  virtual const PathSeat& seat() const = 0;
  /// Another connection may take its place on a better path alone.
  virtual bool demands_better() const = 0;
  /// Breaks the connection, though it has not failed.
  virtual void leave(BreakReason reason) noexcept = 0;
  virtual void tell(const PeerNotice& notice) noexcept = 0;
};

/// A port that came up again a moment ago.
struct RestingPort {
  std::string name;
  double rest_s = 0;  ///< from now on
};

/// What an end says of the ways when a connection is made. Ports that it does not name are down.
struct PathClaims {
  std::vector<PortAddress> ports;  ///< that can be used, in order of preference
  std::vector<Path> suspects;      ///< that are left alone; `here` is the end that says so
  std::vector<RestingPort> resting = {};
};

/// A PathHealth for each peer, and what follows from it: which pair of ports a new connection gets,
/// which connections break at once, which might return to a better path. Both ends tell each other
/// what they have seen, with each handshake and in notices.
///
/// Thread rule: any thread.
class PathBook {
 public:
  /// Called without locks held: a queue pair has found that a port of this rank carries nothing.
  using OnPortFailure = std::function<void(const std::string& port)>;

  /// `has_other_ways`: peers can be reached without RDMA too.
  explicit PathBook(bool has_other_ways, OnPortFailure on_port_failure = {})
      : has_other_ways_(has_other_ways), on_port_failure_(std::move(on_port_failure)) {}

  /// What to tell the peer; `ports`: this end's that are active, in order of preference.
  PathClaims claims(Identity peer, const std::vector<PortAddress>& ports);
  /// What the peer has told, when this end told `mine`. Connections to a port that the peer cannot use leave it, as where it
  /// says so in a notice, which may be lost on a dead wire: on one that only receives nothing else may show that.
  void learn(Identity peer, const PathClaims& mine, const PathClaims& theirs);
  /// At the accepting end, after learn(): the pair for the `turn`-th connection, as places in the two
  /// lists. Nothing where no pair fits, or each has to be left alone for now. A suspect counts as failed
  /// until passed(): others do not try it at the same time. `present`: a path that the connecting end
  /// has already (`here` is its port): only a better one is chosen, a suspect rather than none.
  std::optional<PortPair> choose(Identity peer, const PathClaims& connecting, const PathClaims& accepting,
                                 std::size_t turn, const std::optional<Path>& present);
  /// At the connecting end: the path of the connection for `purpose` that demands a better one.
  std::optional<Path> present(Identity peer, const std::string& purpose);

  /// Whether one of its ports is known to be down.
  bool is_down(Identity peer, const Path& path) const;
  void passed(Identity peer, const Path& path);
  /// Why the handshake over `path` failed by a fault of the path, for people.
  void remember(Identity peer, const Path& path, const std::string& sentence);
  /// To be added to an error: what was remembered last of paths that have not passed since. The newest few, and how many
  /// more there are; empty where there is none.
  std::string failures_text(Identity peer) const;
  void broke(Identity peer, const Path& path, BreakReason reason);
  /// A port of this rank has gone (`reason`), or is back (nothing).
  void port_changed(const std::string& port, std::optional<BreakReason> reason);
  /// The other end of `user` has said so.
  void heard(PathUser& user, const PeerNotice& notice);

  /// From now on until remove() it hears of ports.
  void add(PathUser& user);
  void remove(PathUser& user);
  BetterWay better_way(const PathUser& user);

 private:
  struct Failure {
    Path path;
    std::string sentence;
    double at_s = 0;
  };
  struct Ways {
    PathHealth health;
    std::vector<PortAddress> mine, theirs;  ///< all that were ever told, the first told first
    std::vector<Failure> failures;          ///< the last of each path's, until it passes; the newest last
  };
  static void forget_failure(Ways& ways, const Path& path);
  static void learn_ports(Ways& ways, const PathClaims& theirs, double now_s);
  static std::vector<Path> in_order(const Ways& ways, const PathSeat& seat);
  void leave_if_down(PathUser& user, BreakReason reason, double now_s);

  const bool has_other_ways_;
  const OnPortFailure on_port_failure_;
  mutable std::mutex mutex_;
  std::map<Identity, Ways> ways_of_;
  std::set<PathUser*> users_;
};

}  // namespace tenax::comm::verbs
