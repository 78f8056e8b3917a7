#include "resilience/diagnosis/probe_rounds.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tenax::resilience {
namespace {

using comm::LinkTopology;

std::size_t expected_rounds(LinkTopology topology, int ranks) {
  if (topology == LinkTopology::ring) return ranks == 2 ? 1 : ranks % 2 == 0 ? 2 : 3;
  return static_cast<std::size_t>(ranks % 2 == 0 ? ranks - 1 : ranks);
}

std::set<std::pair<int, int>> links_of(LinkTopology topology, int ranks) {
  std::set<std::pair<int, int>> links;
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b)
      if (topology == LinkTopology::all_pairs || b == a + 1 || (a == 0 && b == ranks - 1))
        links.insert({a, b});
  return links;
}

TEST(ProbeRounds, test_each_link_once_in_as_few_rounds_as_can_be) {
  for (const LinkTopology topology : {LinkTopology::ring, LinkTopology::all_pairs})
    for (int ranks = 2; ranks <= 66; ++ranks) {
      const auto rounds = probe_rounds(topology, ranks);
      EXPECT_EQ(rounds.size(), expected_rounds(topology, ranks)) << ranks;
      std::set<std::pair<int, int>> links;
      for (const ProbeRound& round : rounds) {
        std::set<int> busy;
        for (const RankPair& pair : round) {
          EXPECT_LT(pair.a, pair.b);
          EXPECT_TRUE(busy.insert(pair.a).second && busy.insert(pair.b).second)
              << "twice in a round of " << ranks;
          EXPECT_TRUE(links.insert({pair.a, pair.b}).second) << "twice among " << ranks;
        }
      }
      EXPECT_EQ(links, links_of(topology, ranks)) << ranks;
    }
}

TEST(ProbeRounds, are_none_where_there_are_no_links) {
  EXPECT_TRUE(probe_rounds(LinkTopology::none, 8).empty());
  EXPECT_TRUE(probe_rounds(LinkTopology::ring, 1).empty());
  EXPECT_TRUE(probe_rounds(LinkTopology::all_pairs, 1).empty());
}

TEST(ProbeRounds, can_be_those_of_some_ranks_alone) {
  const std::vector<int> ends = {3};
  const auto rounds = rounds_with(probe_rounds(LinkTopology::all_pairs, 8), ends);
  EXPECT_EQ(rounds.size(), 7U);
  for (const ProbeRound& round : rounds) {
    ASSERT_EQ(round.size(), 1U);
    EXPECT_TRUE(round[0].has(3));
  }
  EXPECT_EQ(rounds_with(probe_rounds(LinkTopology::ring, 8), ends).size(), 2U);
}

}  // namespace
}  // namespace tenax::resilience
