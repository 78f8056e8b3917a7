#include "resilience/diagnosis/probe_rounds.hpp"

#include <algorithm>
#include <iterator>

namespace tenax::resilience {
namespace {

RankPair pair_of(int a, int b) { return {std::min(a, b), std::max(a, b)}; }

/// Link i joins rank i and the next one.
std::vector<ProbeRound> ring_rounds(int ranks) {
  const bool is_odd = ranks % 2 != 0;
  const int links = ranks == 2 ? 1 : ranks;
  std::vector<ProbeRound> rounds(ranks == 2 ? 1 : is_odd ? 3 : 2);
  for (int link = 0; link < links; ++link) {
    const int round = is_odd && link + 1 == links ? 2 : link % 2;
    rounds[static_cast<std::size_t>(round)].push_back(pair_of(link, (link + 1) % ranks));
  }
  return rounds;
}

/// All but one rank stand in a circle, the last one, or the rest, in its centre: it is paired with one of them, the
/// others across the chord at right angles to that. Then the circle turns on.
std::vector<ProbeRound> circle_rounds(int ranks) {
  const bool rests = ranks % 2 != 0;
  const int circle = rests ? ranks : ranks - 1;
  std::vector<ProbeRound> rounds;
  for (int turn = 0; turn < circle; ++turn) {
    ProbeRound& round = rounds.emplace_back();
    if (!rests) round.push_back(pair_of(turn, ranks - 1));
    for (int step = 1; step <= (circle - 1) / 2; ++step)
      round.push_back(pair_of((turn + step) % circle, (turn + circle - step) % circle));
  }
  return rounds;
}

}  // namespace

std::vector<ProbeRound> probe_rounds(comm::LinkTopology topology, int ranks) {
  if (ranks < 2 || topology == comm::LinkTopology::none) return {};
  return topology == comm::LinkTopology::ring ? ring_rounds(ranks) : circle_rounds(ranks);
}

std::vector<ProbeRound> probe_rounds(const comm::Communicator& group) {
  const std::vector<ProbeRound> first = probe_rounds(group.topology(), group.size());
  const std::vector<int> order = group.ring_order();
  if (group.topology() != comm::LinkTopology::ring || std::is_sorted(order.begin(), order.end()))
    return first;
  std::vector<ProbeRound> rounds = first;
  std::vector<RankPair> joined;
  for (ProbeRound& round : rounds)
    for (RankPair& pair : round)
      joined.push_back(
          pair = pair_of(order[static_cast<std::size_t>(pair.a)], order[static_cast<std::size_t>(pair.b)]));
  for (ProbeRound avoided : first) {
    std::erase_if(avoided, [&](const RankPair& pair) {
      return std::find(joined.begin(), joined.end(), pair) != joined.end();
    });
    if (!avoided.empty()) rounds.push_back(std::move(avoided));
  }
  return rounds;
}

std::vector<ProbeRound> rounds_with(const std::vector<ProbeRound>& rounds, std::span<const int> ends) {
  const auto concerns = [ends](const RankPair& pair) {
    return std::any_of(ends.begin(), ends.end(), [&](int rank) { return pair.has(rank); });
  };
  std::vector<ProbeRound> chosen;
  for (const ProbeRound& round : rounds) {
    ProbeRound part;
    std::copy_if(round.begin(), round.end(), std::back_inserter(part), concerns);
    if (!part.empty()) chosen.push_back(std::move(part));
  }
  return chosen;
}

}  // namespace tenax::resilience
