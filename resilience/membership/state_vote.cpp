#include "resilience/membership/state_vote.hpp"

#include <algorithm>
#include <utility>

namespace tenax::resilience {
namespace {

/// The replicas that have the same value.
template <class Value>
struct Camp {
  Value value;
  StateEvidence evidence;  // of one of them
  std::vector<int> replicas = {};
  int votes = 0;  // of those that may speak of it
};

template <class Value>
void join(std::vector<Camp<Value>>& camps, const Value& value, const StateEvidence& evidence, int replica,
          bool votes) {
  auto camp = std::find_if(camps.begin(), camps.end(), [&](const auto& it) { return it.value == value; });
  if (camp == camps.end()) camp = camps.insert(camp, {value, evidence});
  camp->replicas.push_back(replica);
  camp->votes += votes ? 1 : 0;
}

/// Sorts them, the largest first; says who is not in it. A lone voter is no witness against those without a vote: if these have
/// fetched its state, either may have changed since.
template <class Value>
std::optional<Dissent> dissent(std::vector<Camp<Value>>& camps) {
  if (camps.size() < 2) return {};
  std::stable_sort(camps.begin(), camps.end(),
                   [](const auto& a, const auto& b) { return a.votes > b.votes; });
  Dissent found;
  found.is_tie = camps[0].votes == camps[1].votes || camps[0].votes < 2;
  for (std::size_t i = found.is_tie ? 0 : 1; i < camps.size(); ++i)
    found.replicas.insert(found.replicas.end(), camps[i].replicas.begin(), camps[i].replicas.end());
  std::sort(found.replicas.begin(), found.replicas.end());
  found.right = camps[0].evidence;
  found.wrong = camps[1].evidence;
  return found;
}

std::optional<Dissent> compare_squares(std::int64_t step, const std::map<int, StateEvidence>& votes) {
  std::vector<Camp<std::uint64_t>> camps;
  for (const auto& [replica, evidence] : votes) join(camps, evidence.squares, evidence, replica, true);
  auto found = dissent(camps);
  if (found) found->trusted = step;
  return found;
}

}  // namespace

// It may have fetched the state in a step that a loss has cut short: no commit of it tells so.
void StateVote::begin(std::set<int> voters, std::int64_t from_step) {
  for (const int voter : voters)
    if (!voters_.empty() && !voters_.contains(voter)) joined_[voter] = from_step;
  voters_ = std::move(voters);
  open_.clear();
}

void StateVote::trust(std::int64_t done) {
  trusted_ = done;
  compared_.clear();
  joined_.clear();
}

std::optional<Dissent> StateVote::add(std::int64_t step, int replica, const StateEvidence& evidence) {
  if (voters_.insert(replica).second) joined_[replica] = step;
  Votes& votes = open_[step];
  votes[replica] = evidence;
  if (!std::all_of(voters_.begin(), voters_.end(), [&](int voter) { return votes.contains(voter); }))
    return {};
  auto found = compare_digests(step, votes);
  if (!found) found = compare_squares(step, votes);
  open_.erase(open_.begin(), open_.upper_bound(step));
  return found;
}

std::optional<Dissent> StateVote::compare_digests(std::int64_t step, const Votes& votes) {
  if (digest_steps_ == 0) return {};
  const std::int64_t slice = step % digest_steps_;
  const auto compared = compared_.find(slice);
  const std::int64_t trusted = compared == compared_.end() ? trusted_ : compared->second;
  std::vector<Camp<StateDigest>> camps;
  for (const auto& [replica, evidence] : votes) {
    const auto joined = joined_.find(replica);
    const bool may_vote = joined == joined_.end() || joined->second <= trusted;
    if (evidence.digest) join(camps, *evidence.digest, evidence, replica, may_vote);
  }
  auto found = dissent(camps);
  if (!found) {
    if (!camps.empty()) compared_[slice] = step;
    return {};
  }
  found->by = CorruptBy::digest;
  found->trusted = trusted;
  return found;
}

}  // namespace tenax::resilience
