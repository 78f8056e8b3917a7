#include "comm/verbs/path_health.hpp"

#include <algorithm>
#include <iterator>

namespace tenax::comm::verbs {

void PathHealth::port_down(PathEnd end, const std::string& port, double now_s) {
  PortState& state = state_of(end, port);
  if (!state.is_up) return;
  state.wait_s = state.delay.after_failure_s(state.since_s, now_s);
  state.is_up = false;
}

void PathHealth::port_up(PathEnd end, const std::string& port, double now_s) {
  PortState& state = state_of(end, port);
  if (state.is_up) return;
  state.is_up = true;
  state.since_s = now_s;
  state.usable_at_s = now_s + state.wait_s;
}

void PathHealth::port_rests(PathEnd end, const std::string& port, double until_s, double now_s) {
  port_up(end, port, now_s);
  double& usable_at_s = state_of(end, port).usable_at_s;
  usable_at_s = std::max(usable_at_s, until_s);
}

void PathHealth::broke(const Path& path, BreakReason reason, double now_s) {
  switch (reason) {
    case BreakReason::port_down:
    case BreakReason::device_lost:
      return port_down(PathEnd::here, path.here, now_s);
    case BreakReason::peer_port_down:
      return port_down(PathEnd::there, path.there, now_s);
    case BreakReason::no_answer:
      return suspect(path, now_s);
    case BreakReason::own_fault:
      return rest_after_own_fault(now_s);
    case BreakReason::peer_gone:
      return;
  }
}

void PathHealth::suspect(const Path& path, double now_s) {
  Suspicion& suspicion = suspicions_[path];
  // Connections over the path break one after the other: only what was tried since is another failure.
  if (suspicion.is_suspect && now_s < suspicion.test_at_s) return;
  const double worked_since_s = suspicion.is_suspect ? now_s : suspicion.since_s;
  suspicion.test_at_s = now_s + suspicion.delay.after_failure_s(worked_since_s, now_s);
  suspicion.is_suspect = true;
}

/// As with suspects, what the other connections meet during the rest is the same fault.
void PathHealth::rest_after_own_fault(double now_s) {
  if (now_s < own_fault_rests_until_s_) return;
  own_fault_rests_until_s_ = now_s + own_fault_delay_.after_failure_s(own_fault_rests_until_s_, now_s);
}

void PathHealth::passed(const Path& path, double now_s) {
  const auto found = suspicions_.find(path);
  if (found == suspicions_.end() || !found->second.is_suspect) return;
  found->second.is_suspect = false;
  found->second.since_s = now_s;
}

bool PathHealth::is_suspect(const Path& path) const {
  const auto found = suspicions_.find(path);
  return found != suspicions_.end() && found->second.is_suspect;
}

std::optional<double> PathHealth::usable_at_s(PathEnd end, const std::string& port) const {
  const auto& ports = ports_[static_cast<std::size_t>(end)];
  const auto found = ports.find(port);
  if (found == ports.end()) return 0;
  return found->second.is_up ? std::optional(found->second.usable_at_s) : std::nullopt;
}

std::optional<double> PathHealth::usable_at_s(const Path& path) const {
  const auto here_s = usable_at_s(PathEnd::here, path.here),
             there_s = usable_at_s(PathEnd::there, path.there);
  if (!here_s || !there_s) return std::nullopt;
  return std::max(*here_s, *there_s);
}

std::optional<double> PathHealth::ready_at_s(const Path& path) const {
  const std::optional<double> usable_s = usable_at_s(path);
  if (!usable_s) return std::nullopt;
  const double test_at_s = is_suspect(path) ? suspicions_.at(path).test_at_s : 0;
  return std::max({*usable_s, own_fault_rests_until_s_, test_at_s});
}

bool PathHealth::is_ready(const Path& path, double now_s) const {
  const std::optional<double> at_s = ready_at_s(path);
  return at_s && *at_s <= now_s;
}

std::vector<Path> PathHealth::candidates(double now_s) const {
  std::vector<Path> ready;
  std::copy_if(paths_.begin(), paths_.end(), std::back_inserter(ready),
               [&](const Path& path) { return is_ready(path, now_s); });
  std::stable_partition(ready.begin(), ready.end(), [&](const Path& path) { return !is_suspect(path); });
  return ready;
}

std::vector<Path> PathHealth::better_than(const Path& present, double now_s) const {
  const auto rank = [&](const Path& path) { return std::find(paths_.begin(), paths_.end(), path); };
  std::vector<Path> better = candidates(now_s);
  std::erase_if(better, [&](const Path& path) { return rank(path) >= rank(present); });
  return better;
}

bool PathHealth::should_leave(const Path& present, double now_s) const {
  if (usable_at_s(present)) return false;
  const std::vector<Path> others = candidates(now_s);
  return !others.empty() && !is_suspect(others.front());
}

bool PathHealth::is_up(PathEnd end, const std::string& port) const {
  return usable_at_s(end, port).has_value();
}

std::vector<Path> PathHealth::resting(double now_s) const {
  std::vector<Path> all;
  for (const auto& [path, suspicion] : suspicions_)
    if (suspicion.is_suspect && now_s < suspicion.test_at_s) all.push_back(path);
  return all;
}

std::optional<double> PathHealth::next_change_s(double now_s) const {
  std::optional<double> next_s;
  for (const Path& path : paths_)
    if (const auto at_s = ready_at_s(path); at_s && *at_s > now_s)
      next_s = std::min(next_s.value_or(*at_s), *at_s);
  return next_s;
}

}  // namespace tenax::comm::verbs
