#include "app/supervisor/replica_watch.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "app/training/iteration_watch.hpp"
#include "app/units.hpp"

namespace tenax::app {

using io::JsonObject;
using resilience::MemberTimes;
using Figure = resilience::SlowPeers::Figure;
using Part = resilience::SlowPeers::Part;

namespace {

/// Of a replica's own time: less is noise.
constexpr double kNoise = 0.03;
/// Threads wake so late.
constexpr double kLeast_s = 1e-3;
constexpr std::size_t kMostTimes = 64;

/// A link that is slow makes it no longer.
double longest_own_s(const resilience::CommitRecord& commit) {
  double longest_s = 0;
  for (const MemberTimes& member : commit.members) longest_s = std::max(longest_s, member.iteration_s);
  return longest_s;
}

bool is_link(const Part& part) { return part.first != part.second; }

}  // namespace

void ReplicaWatch::take(const resilience::CommitRecord& commit) {
  if (!section_.enabled || commit.is_masked || commit.members.size() < 2) return;
  time_of_step_[commit.step] = commit.time;
  if (time_of_step_.size() > kMostTimes) time_of_step_.erase(time_of_step_.begin());
  const double suspect =
      commit.is_crowded ? std::max(section_.suspect, 1 + kCrowdedChange) : section_.suspect;
  replicas_.set_suspect(suspect);
  links_.set_suspect(suspect);
  const double noise_s = std::max(kLeast_s, kNoise * longest_own_s(commit));
  for (const Change& change : replicas_.add(commit.step, replica_figures(commit), noise_s))
    tell(change, commit);
  for (const Change& change : links_.add(commit.step, link_figures(commit), noise_s)) tell(change, commit);
}

// Who has left, or started again, begins anew.
void ReplicaWatch::take(const resilience::EpochRecord& epoch) {
  std::map<int, resilience::EpochRecord::Member> members;
  for (const auto& member : epoch.members) members[member.id.replica] = member;
  const auto has_gone = [&](int replica) {
    const auto now = members.find(replica), before = members_.find(replica);
    return now == members.end() || before == members_.end() || now->second.id != before->second.id;
  };
  const auto is_of_gone = [&](const Part& part) { return has_gone(part.first) || has_gone(part.second); };
  for (const auto& [replica, member] : members_)
    if (has_gone(replica)) own_.forget(replica);
  std::erase_if(told_, is_of_gone);
  replicas_.forget(is_of_gone);
  links_.forget(is_of_gone);
  members_ = std::move(members);
}

// Those with as many samples are compared. One that fetches the state computes none.
std::vector<Figure> ReplicaWatch::replica_figures(const resilience::CommitRecord& commit) const {
  std::vector<Figure> figures;
  for (const MemberTimes& member : commit.members) {
    double samples = 0;
    for (const resilience::Part& part : commit.parts)
      if (part.replica == member.replica) samples += static_cast<double>(part.count);
    if (samples > 0 && member.iteration_s > 0)
      figures.push_back(
          {.part = {member.replica, member.replica}, .work = samples, .seconds = member.iteration_s});
  }
  return figures;
}

// A replica that is slow takes messages late: that says nothing of its links. Two replicas are joined twice.
std::vector<Figure> ReplicaWatch::link_figures(const resilience::CommitRecord& commit) const {
  std::map<Part, double> seconds;
  for (std::size_t i = 0; i < commit.members.size(); ++i) {
    const MemberTimes& member = commit.members[i];
    const int next = commit.members[(i + 1) % commit.members.size()].replica;
    if (member.exchange_s <= 0 || is_told(member.replica) || is_told(next)) continue;
    double& slower_s = seconds[std::minmax(member.replica, next)];
    slower_s = std::max(slower_s, member.exchange_s);
  }
  std::vector<Figure> figures;
  for (const auto& [ends, exchange_s] : seconds) figures.push_back({.part = ends, .seconds = exchange_s});
  return figures;
}

void ReplicaWatch::tell(const Change& change, const resilience::CommitRecord& commit) {
  if (change.is_slow && !is_link(change.part) && own_.contains(change.part.first)) return;
  if (change.is_slow ? !told_.insert(change.part).second : told_.erase(change.part) == 0) return;
  JsonObject details = component(change);
  std::optional<int> replica;
  if (!is_link(change.part)) replica = change.part.first;
  if (!change.is_slow) {
    events_.write_of_step(commit.step, "healed", replica,
                          details.add("slow_steps", commit.step - change.since));
  } else {
    if (replica) details.add("replica", *replica);
    const auto since = time_of_step_.find(change.since);
    const double reaction_s = since == time_of_step_.end() ? 0 : commit.time - since->second;
    events_.write_of_step(commit.step, "fail_slow", replica,
                          JsonObject{}
                              .add("cause", is_link(change.part) ? "link" : "compute")
                              .add("components", std::vector{details})
                              .add("known_by", "profile")
                              .add("reaction_seconds", reaction_s));
  }
  if (commit.is_crowded) return;
  const std::string name = is_link(change.part) ? format("the link between replicas %d and %d",
                                                         change.part.first, change.part.second)
                                                : format("replica %d", change.part.first);
  console_.say(format("step %lld: %s %s: %.3g times as long as others", static_cast<long long>(commit.step),
                      name.c_str(), change.is_slow ? "is slow" : "has healed", change.factor));
}

// Of all ranks of a replica together: none is known to be the slow one.
JsonObject ReplicaWatch::component(const Change& change) const {
  const auto [one, other] = change.part;
  JsonObject object;
  if (is_link(change.part))
    object.add("kind", "link")
        .add_json("ranks", "null")
        .add("replicas", std::vector<std::int64_t>{one, other})
        .add("hosts", std::vector<std::string>{host(one), host(other)})
        .add("group", "replica");
  else
    object.add("kind", "rank").add_json("rank", "null").add("host", host(one));
  for (const char* name : {"device", "stage", "data"}) object.add_json(name, "null");
  return object.add("factor", change.factor).add("cause", is_link(change.part) ? "link" : "compute");
}

std::string ReplicaWatch::host(int replica) const {
  const auto found = members_.find(replica);
  return found == members_.end() ? "" : found->second.host;
}

}  // namespace tenax::app
