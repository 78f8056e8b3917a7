#include "resilience/blame/wait_graph.hpp"

#include <gtest/gtest.h>

#include "resilience/blame/culprits.hpp"

namespace tenax::resilience {
namespace {

constexpr OpenOperation kPass{.kind = OperationKind::pass, .label = "F3"};

OpenOperation stands_in(OperationKind kind, int channel, std::int64_t number = 0) {
  return {.kind = kind,
          .label = {},
          .channel = channel,
          .number = number,
          .bytes = 8,
          .seconds = 5,
          .attention = Attention::stands};
}

HangDump::Rank rank_in(std::vector<OpenOperation> open) {
  return {.host = "here", .stands_s = 5, .open = std::move(open)};
}

/// A link from rank 0 to rank 1 with so much done at its ends.
HangDump::Channel link(ChannelSeat sender, ChannelSeat receiver) {
  sender.rank = 0;
  receiver.rank = 1;
  return {"direct", ChannelKind::link, {sender, receiver}};
}

HangDump::Channel group(std::vector<std::int64_t> started) {
  HangDump::Channel channel{"tensor@0", ChannelKind::group, {}};
  for (const std::int64_t count : started)
    channel.seats.push_back({.rank = static_cast<int>(channel.seats.size()), .started = count});
  return channel;
}

TEST(WaitGraph, a_rank_in_a_pass_waits_for_nobody_though_it_has_posted_a_receive) {
  OpenOperation receive = stands_in(OperationKind::receive, 0);
  receive.attention = Attention::none;
  const HangDump dump{.ranks = {rank_in({}), rank_in({receive, kPass})},
                      .channels = {link({.started = 0}, {.started = 1})}};
  EXPECT_EQ(wait_graph(dump).doing[1], Doing::computes);
  EXPECT_TRUE(wait_graph(dump).next[1].empty());
}

TEST(WaitGraph, a_rank_is_idle_that_neither_waits_nor_computes_while_something_is_under_way) {
  OpenOperation receive = stands_in(OperationKind::receive, 0);
  const auto idle_with = [&](Attention attention, std::vector<OpenOperation> others) {
    receive.attention = attention;
    others.insert(others.begin(), receive);
    return some_idle({.ranks = {rank_in({kPass}), rank_in(others)}, .channels = {link({}, {.started = 1})}});
  };
  EXPECT_TRUE(idle_with(Attention::none, {}));
  EXPECT_FALSE(idle_with(Attention::looks, {}));
  EXPECT_FALSE(idle_with(Attention::stands, {}));
  EXPECT_FALSE(idle_with(Attention::none, {kPass}));
  EXPECT_FALSE(some_idle({.ranks = {rank_in({})}, .channels = {}}));
}

TEST(WaitGraph, a_rank_in_a_collective_of_its_pass_waits) {
  const HangDump dump{.ranks = {rank_in({kPass, stands_in(OperationKind::all_reduce, 0)}), rank_in({kPass})},
                      .channels = {group({1, 0})}};
  const Blame blame = find_culprits(dump);
  ASSERT_EQ(blame.culprits.size(), 1U);
  EXPECT_EQ(blame.culprits[0].rank, 1);
  EXPECT_EQ(blame.culprits[0].operation, "pass F3 does not end");
  EXPECT_EQ(blame.operation, "all_reduce 0 of tensor@0");
}

TEST(Culprits, are_the_sender_that_has_not_sent_and_not_the_receiver) {
  const HangDump dump{.ranks = {rank_in({}), rank_in({stands_in(OperationKind::receive, 0)})},
                      .channels = {link({.started = 0}, {.started = 1})}};
  const Blame blame = find_culprits(dump);
  ASSERT_EQ(blame.culprits.size(), 1U);
  EXPECT_EQ(blame.culprits[0].rank, 0);
}

TEST(Culprits, are_both_ends_of_a_link_that_has_lost_a_message_the_sender_first) {
  const HangDump dump{.ranks = {rank_in({}), rank_in({stands_in(OperationKind::receive, 0, 3)})},
                      .channels = {link({.started = 4, .finished = 4}, {.started = 4, .finished = 3})}};
  const Blame blame = find_culprits(dump);
  ASSERT_EQ(blame.culprits.size(), 2U);
  EXPECT_EQ(blame.culprits[0].rank, 0);
  EXPECT_EQ(blame.culprits[0].operation, "send 3 of direct has left and not arrived");
}

TEST(Culprits, are_the_one_whose_collective_is_another) {
  HangDump dump{.ranks = {}, .channels = {group({1, 1, 1})}};
  for (int i = 0; i < 3; ++i) dump.ranks.push_back(rank_in({stands_in(OperationKind::all_reduce, 0)}));
  dump.ranks[2].open[0].bytes = 16;
  EXPECT_EQ(find_culprits(dump).culprits[0].rank, 2);
}

TEST(Culprits, are_a_guess_where_all_have_come_and_nothing_tells_them_apart) {
  HangDump dump{.ranks = {}, .channels = {group({1, 1})}};
  for (int i = 0; i < 2; ++i) dump.ranks.push_back(rank_in({stands_in(OperationKind::exchange, 0)}));
  EXPECT_TRUE(find_culprits(dump).culprits.at(0).is_guess);
  dump.ranks[1].open[0].kind = OperationKind::sum;
  EXPECT_FALSE(find_culprits(dump).culprits.at(0).is_guess);
}

TEST(Culprits, are_not_the_rank_that_moves_while_another_stands_longer) {
  HangDump dump{
      .ranks = {rank_in({stands_in(OperationKind::all_reduce, 0)}), rank_in({kPass}), rank_in({kPass})},
      .channels = {group({1, 0, 0})}};
  dump.ranks[1].stands_s = 0.5;
  EXPECT_EQ(find_culprits(dump).culprits[0].rank, 2);
}

TEST(Culprits, are_nobody_where_all_compute) {
  const HangDump dump{.ranks = {rank_in({kPass}), rank_in({kPass})}, .channels = {group({0, 0})}};
  EXPECT_TRUE(find_culprits(dump).culprits.empty());
}

TEST(Culprits, are_the_stopped_process_in_a_collective_that_all_have_come_to) {
  HangDump dump{.ranks = {}, .channels = {group({1, 1, 1})}};
  for (int i = 0; i < 3; ++i) dump.ranks.push_back(rank_in({stands_in(OperationKind::all_reduce, 0)}));
  dump.ranks[1].state = ProcessState::stopped;
  EXPECT_EQ(find_culprits(dump).culprits[0].rank, 1);
}

TEST(StrongComponents, are_circles_and_single_nodes) {
  const StrongComponents parts = strong_components({{1}, {2}, {0, 3}, {}, {3}});
  EXPECT_EQ(parts.count, 3);
  EXPECT_EQ(parts.of_node[0], parts.of_node[2]);
  EXPECT_NE(parts.of_node[3], parts.of_node[4]);
}

TEST(StrongComponents, of_a_long_chain_need_no_recursion) {
  Successors chain(1'000'000);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) chain[i] = {static_cast<int>(i) + 1};
  EXPECT_EQ(strong_components(chain).count, 1'000'000);
}

}  // namespace
}  // namespace tenax::resilience
