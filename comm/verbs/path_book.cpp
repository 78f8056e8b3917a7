#include "comm/verbs/path_book.hpp"

#include <algorithm>

#include "comm/failure.hpp"
#include "kernels/deadline.hpp"

namespace tenax::comm::verbs {
namespace {

using kernels::steady_now_s;

auto find_port(const std::vector<PortAddress>& ports, const std::string& name) {
  return std::find_if(ports.begin(), ports.end(), [&](const PortAddress& port) { return port.name == name; });
}

std::size_t place_of(const std::vector<PortAddress>& ports, const std::string& name) {
  return static_cast<std::size_t>(find_port(ports, name) - ports.begin());
}

/// A port that comes back may have another address.
void merge(std::vector<PortAddress>& known, const std::vector<PortAddress>& told) {
  for (const PortAddress& port : told)
    if (const std::size_t place = place_of(known, port.name); place < known.size())
      known[place] = port;
    else
      known.push_back(port);
}

std::string age_text(double seconds) {
  constexpr double kStep = 60, kMost = 2 * kStep;  // up to so many of the smaller unit
  double age = seconds;
  const char* unit = " s";
  for (const char* larger : {" min", " h"})
    if (age >= kMost) {
      age /= kStep;
      unit = larger;
    }
  return std::to_string(static_cast<std::int64_t>(age)) + unit + " ago";
}

}  // namespace

PathClaims PathBook::claims(Identity peer, const std::vector<PortAddress>& ports) {
  const std::lock_guard lock(mutex_);
  const PathHealth& health = ways_of_[peer].health;
  const double now_s = steady_now_s();
  PathClaims claims{{}, health.resting(now_s)};
  for (const PortAddress& port : ports) {
    const std::optional<double> at_s = health.usable_at_s(PathEnd::here, port.name);
    if (at_s && *at_s <= now_s) claims.ports.push_back(port);
    if (at_s && *at_s > now_s) claims.resting.push_back({port.name, *at_s - now_s});
  }
  return claims;
}

void PathBook::learn(Identity peer, const PathClaims& mine, const PathClaims& theirs) {
  const std::lock_guard lock(mutex_);
  const double now_s = steady_now_s();
  Ways& ways = ways_of_[peer];
  merge(ways.mine, mine.ports);
  merge(ways.theirs, theirs.ports);
  learn_ports(ways, theirs, now_s);
  for (const Path& theirs_first : theirs.suspects)
    if (const Path path{theirs_first.there, theirs_first.here}; !ways.health.is_suspect(path))
      ways.health.broke(path, BreakReason::no_answer, now_s);
  for (PathUser* user : users_)
    if (user->seat().peer == peer && !ways.health.is_up(PathEnd::there, user->path().there))
      leave_if_down(*user, BreakReason::peer_port_down, now_s);
}

/// No notice tells when a port's rest is over.
void PathBook::learn_ports(Ways& ways, const PathClaims& theirs, double now_s) {
  for (const PortAddress& port : ways.theirs) {
    const auto rest = std::find_if(theirs.resting.begin(), theirs.resting.end(),
                                   [&](const RestingPort& resting) { return resting.name == port.name; });
    if (rest != theirs.resting.end())
      ways.health.port_rests(PathEnd::there, port.name, now_s + rest->rest_s, now_s);
    else if (find_port(theirs.ports, port.name) != theirs.ports.end())
      ways.health.port_up(PathEnd::there, port.name, now_s);
    else
      ways.health.port_down(PathEnd::there, port.name, now_s);
  }
}

std::optional<PortPair> PathBook::choose(Identity peer, const PathClaims& connecting,
                                         const PathClaims& accepting, std::size_t turn,
                                         const std::optional<Path>& present) {
  const std::lock_guard lock(mutex_);
  const double now_s = steady_now_s();
  Ways& ways = ways_of_[peer];
  ways.health.set_paths(in_order(ways, {peer, ConnectionEnd::accepting, {}, turn}));
  const std::vector<Path> paths = present ? ways.health.better_than({present->there, present->here}, now_s)
                                          : ways.health.candidates(now_s);
  for (const Path& path : paths) {
    const PortPair pair{place_of(connecting.ports, path.there), place_of(accepting.ports, path.here)};
    if (pair.connecting == connecting.ports.size() || pair.accepting == accepting.ports.size()) continue;
    if (ways.health.is_suspect(path)) ways.health.broke(path, BreakReason::no_answer, now_s);
    return pair;
  }
  return std::nullopt;
}

std::optional<Path> PathBook::present(Identity peer, const std::string& purpose) {
  const std::lock_guard lock(mutex_);
  for (const PathUser* user : users_)
    if (user->seat().peer == peer && user->seat().purpose == purpose &&
        user->seat().end == ConnectionEnd::connecting && user->demands_better())
      return user->path();
  return std::nullopt;
}

std::vector<Path> PathBook::in_order(const Ways& ways, const PathSeat& seat) {
  const bool connects = seat.end == ConnectionEnd::connecting;
  const std::vector<PortAddress>&connecting = connects ? ways.mine : ways.theirs,
        &accepting = connects ? ways.theirs : ways.mine;
  std::vector<Path> paths;
  for (const PortPair& pair : port_pairs(connecting, accepting, seat.turn)) {
    Path path{connecting[pair.connecting].name, accepting[pair.accepting].name};
    if (!connects) std::swap(path.here, path.there);
    paths.push_back(std::move(path));
  }
  return paths;
}

bool PathBook::is_down(Identity peer, const Path& path) const {
  const std::lock_guard lock(mutex_);
  const auto ways = ways_of_.find(peer);
  return ways != ways_of_.end() && !(ways->second.health.is_up(PathEnd::here, path.here) &&
                                     ways->second.health.is_up(PathEnd::there, path.there));
}

void PathBook::passed(Identity peer, const Path& path) {
  const std::lock_guard lock(mutex_);
  Ways& ways = ways_of_[peer];
  ways.health.passed(path, steady_now_s());
  forget_failure(ways, path);
}

void PathBook::remember(Identity peer, const Path& path, const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  Ways& ways = ways_of_[peer];
  forget_failure(ways, path);
  ways.failures.push_back({path, sentence, steady_now_s()});
}

void PathBook::forget_failure(Ways& ways, const Path& path) {
  std::erase_if(ways.failures, [&](const Failure& failure) { return failure.path == path; });
}

// The text of a refusal has room for some hundred words.
std::string PathBook::failures_text(Identity peer) const {
  constexpr std::size_t kMostTold = 3;
  const std::lock_guard lock(mutex_);
  const auto ways = ways_of_.find(peer);
  if (ways == ways_of_.end()) return {};
  const std::vector<Failure>& failures = ways->second.failures;
  const std::size_t told = std::min(failures.size(), kMostTold);
  std::string text;
  for (auto each = failures.rbegin(); each != failures.rbegin() + static_cast<std::ptrdiff_t>(told); ++each)
    text += "; before, " + this_host() + " saw: " + each->sentence + " (" +
            age_text(steady_now_s() - each->at_s) + ")";
  if (failures.size() > told)
    text += "; and " + std::to_string(failures.size() - told) + " more paths failed";
  return text;
}

/// Where nobody watches a port that carried nothing, nobody would say that it is up again: its path is tested instead.
void PathBook::broke(Identity peer, const Path& path, BreakReason reason) {
  const bool is_port = reason == BreakReason::port_down || reason == BreakReason::device_lost;
  {
    const std::lock_guard lock(mutex_);
    const BreakReason known = is_port && !on_port_failure_ ? BreakReason::no_answer : reason;
    ways_of_[peer].health.broke(path, known, steady_now_s());
  }
  if (is_port && on_port_failure_) on_port_failure_(path.here);
}

void PathBook::port_changed(const std::string& port, std::optional<BreakReason> reason) {
  const std::lock_guard lock(mutex_);
  const double now_s = steady_now_s();
  for (auto& [peer, ways] : ways_of_)
    if (reason)
      ways.health.port_down(PathEnd::here, port, now_s);
    else
      ways.health.port_up(PathEnd::here, port, now_s);
  const auto kind = reason ? PeerNotice::Kind::port_down : PeerNotice::Kind::port_up;
  for (PathUser* user : users_) user->tell({.kind = kind, .port = port});
  if (!reason) return;
  for (PathUser* user : users_)
    if (user->path().here == port) leave_if_down(*user, *reason, now_s);
}

void PathBook::heard(PathUser& user, const PeerNotice& notice) {
  const std::lock_guard lock(mutex_);
  const double now_s = steady_now_s();
  PathHealth& health = ways_of_[user.seat().peer].health;
  if (notice.kind == PeerNotice::Kind::port_up) health.port_up(PathEnd::there, notice.port, now_s);
  if (notice.kind != PeerNotice::Kind::port_down) return;
  health.port_down(PathEnd::there, notice.port, now_s);
  if (user.path().there == notice.port) leave_if_down(user, BreakReason::peer_port_down, now_s);
}

/// Otherwise it lives as long as its queue pair.
void PathBook::leave_if_down(PathUser& user, BreakReason reason, double now_s) {
  Ways& ways = ways_of_[user.seat().peer];
  ways.health.set_paths(in_order(ways, user.seat()));
  if (has_other_ways_ || ways.health.should_leave(user.path(), now_s)) user.leave(reason);
}

/// What happened before it was added has its consequences now.
void PathBook::add(PathUser& user) {
  const std::lock_guard lock(mutex_);
  const double now_s = steady_now_s();
  users_.insert(&user);
  const PathHealth& health = ways_of_[user.seat().peer].health;
  if (!health.is_up(PathEnd::here, user.path().here)) leave_if_down(user, BreakReason::port_down, now_s);
  if (!health.is_up(PathEnd::there, user.path().there))
    leave_if_down(user, BreakReason::peer_port_down, now_s);
}

void PathBook::remove(PathUser& user) {
  const std::lock_guard lock(mutex_);
  users_.erase(&user);
}

BetterWay PathBook::better_way(const PathUser& user) {
  const std::lock_guard lock(mutex_);
  Ways& ways = ways_of_[user.seat().peer];
  const std::vector<Path> paths = in_order(ways, user.seat());
  if (paths.empty() || paths.front() == user.path()) return BetterWay::none;
  ways.health.set_paths(paths);
  return ways.health.better_than(user.path(), steady_now_s()).empty() ? BetterWay::later : BetterWay::now;
}

}  // namespace tenax::comm::verbs
