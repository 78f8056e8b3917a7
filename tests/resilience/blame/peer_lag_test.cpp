#include "resilience/blame/peer_lag.hpp"

#include <gtest/gtest.h>

#include "resilience/blame/culprits.hpp"

namespace tenax::resilience {
namespace {

OpenOperation standing(OperationKind kind, int channel, std::int64_t number) {
  return {.kind = kind,
          .label = {},
          .channel = channel,
          .number = number,
          .bytes = 8,
          .seconds = 5,
          .attention = Attention::stands};
}

/// Of two data groups rank 1 has left one sum of the first out, and goes on to the control message of all, which rank 0
/// does not come to. In an earlier step there was one control message more.
HangDump left_out() {
  HangDump dump;
  for (int rank = 0; rank < 4; ++rank) {
    dump.ranks.push_back({.rank = rank, .host = "here", .stands_s = 5, .open = {}});
    dump.ranks.back().open = {rank == 0 ? standing(OperationKind::reduce_scatter, 0, 23)
                                        : standing(OperationKind::sum, 2, 36)};
  }
  dump.channels = {{"data.0.0", ChannelKind::group, {{0, 24, 23, 2, 2}, {1, 23, 23, 1, 2}}},
                   {"data.0.1", ChannelKind::group, {{2, 24, 24, 2, 2}, {3, 24, 24, 2, 2}}},
                   {"control@0#0",
                    ChannelKind::group,
                    {{0, 36, 36, 3, 4}, {1, 37, 36, 3, 3}, {2, 37, 36, 3, 3}, {3, 37, 36, 3, 3}}}};
  return dump;
}

TEST(PeerLag, is_of_a_rank_that_has_done_less_than_others_that_stand_there) {
  const HangDump dump = left_out();
  const PeerLag lag(dump);
  EXPECT_EQ(lag.of(1, 0), 1);
  EXPECT_EQ(lag.of(2, 1), -1);
  EXPECT_EQ(lag.of(0, 2), 0) << "nobody else stands there";
}

TEST(PeerLag, names_who_left_one_out_though_steps_are_not_all_alike) {
  EXPECT_EQ(find_culprits(left_out()).culprits.at(0).rank, 1);
}

}  // namespace
}  // namespace tenax::resilience
