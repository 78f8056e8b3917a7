#include "comm/ftar/ring_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/ftar/gather_plan.hpp"

namespace tenax::comm {
namespace {

using kernels::DType;

struct Case {
  std::int64_t elements;
  int ranks;
  std::size_t chunk_bytes;
  int chunks;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t elements : {1, 15, 16, 17, 1000, 4096, 40009})
    for (const int ranks : {2, 3, 4, 8})
      for (const std::size_t chunk_bytes : {64, 4096, 65536})
        for (const int chunks : {1, 4}) all.push_back({elements, ranks, chunk_bytes, chunks});
  return all;
}

RingPlan plan_of(const Case& c, int index) {
  return {c.elements, DType::f32, {c.ranks, index, c.chunk_bytes, c.chunks}};
}

TEST(RingPlan, a_rank_receives_what_the_one_before_it_sends_and_sends_it_on) {
  for (const Case& c : cases())
    for (int rank = 0; rank < c.ranks; ++rank) {
      const RingPlan plan = plan_of(c, rank), before = plan_of(c, (rank + c.ranks - 1) % c.ranks);
      for (std::int64_t turn = 0; turn < plan.turns(); ++turn)
        for (int column = 0; column < plan.columns(); ++column) {
          const auto got = plan.received(turn, column), sent = before.sent(turn, column);
          ASSERT_EQ(got.begin, sent.begin);
          ASSERT_EQ(got.elements, sent.elements);
          const bool goes_on = turn + 1 < plan.turns() && !plan.sends_own(turn + 1);
          ASSERT_TRUE(!goes_on || plan.sent(turn + 1, column).begin == got.begin);
        }
    }
}

/// Sets of ranks whose values are in each element, as bits.
using Contributions = std::vector<std::uint32_t>;

TEST(RingPlan, every_rank_ends_with_every_element_of_all_ranks_once) {
  for (const Case& c : cases()) {
    std::vector<Contributions> out(static_cast<std::size_t>(c.ranks),
                                   Contributions(static_cast<std::size_t>(c.elements)));
    const RingPlan any = plan_of(c, 0);
    for (std::int64_t turn = 0; turn < any.turns(); ++turn) {
      std::vector<std::pair<std::uint32_t*, std::uint32_t>> received;  // is there when the turn is over
      for (int rank = 0; rank < c.ranks; ++rank)
        for (int column = 0; column < any.columns(); ++column) {
          const int sender = (rank + c.ranks - 1) % c.ranks;
          const RingPlan plan = plan_of(c, rank);
          const auto [begin, elements] = plan.received(turn, column);
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(begin + elements);
               ++i) {
            const std::uint32_t come =
                plan.sends_own(turn) ? 1U << sender : out[static_cast<std::size_t>(sender)][i];
            ASSERT_EQ(plan.adds(turn) ? come & (1U << rank) : 0U, 0U) << "a value is added twice";
            const std::uint32_t mine = plan.adds(turn) ? come | 1U << rank : come;
            ASSERT_EQ(plan.adds(turn) && !plan.completes(turn), mine != (1U << c.ranks) - 1);
            received.emplace_back(&out[static_cast<std::size_t>(rank)][i], mine);
          }
        }
      for (const auto& [place, mine] : received) *place = mine;
    }
    for (const Contributions& mine : out)
      for (const std::uint32_t set : mine) ASSERT_EQ(set, (1U << c.ranks) - 1);
  }
}

TEST(RingPlan, chunks_hold_at_most_their_bytes_and_a_partition_as_many_as_are_in_flight) {
  for (const Case& c : cases()) {
    const RingPlan plan = plan_of(c, 1);
    ASSERT_EQ(plan.columns(), c.chunks);
    for (std::int64_t turn = 0; turn < plan.turns(); ++turn)
      for (int column = 0; column < plan.columns(); ++column)
        ASSERT_LE(static_cast<std::size_t>(plan.sent(turn, column).elements) * 4, c.chunk_bytes);
  }
}

TEST(RingPlan, partitions_differ_by_no_more_than_rounding) {
  const RingPlan plan(4 * 4096 + 100, DType::f32, {2, 0, 4096, 2});  // 4 full ones would leave a rest of 100
  EXPECT_EQ(plan.turns(), 5 * 2);
  EXPECT_GT(plan.sent(8, 0).elements, 600);
}

/// Ranks that gather, as BucketExchange does: the values that each has, and how far its columns are.
struct Gathering {
  struct Column {
    std::int64_t sent = 0, received = 0;
  };
  Gathering(int ranks, int rank, std::int64_t portion, std::size_t chunk_bytes)
      : plan(ranks * portion, DType::f64, {ranks, rank, chunk_bytes, 4}),
        values(static_cast<std::size_t>(ranks * portion), -1),
        columns(static_cast<std::size_t>(plan.columns())) {
    std::fill_n(values.begin() + rank * portion, portion, rank);
    for (int column = 0; column < plan.columns(); ++column) pass_empty(column);
  }
  Column& at(int column) { return columns[static_cast<std::size_t>(column)]; }
  bool may_send(int column) {
    return at(column).sent < 2 && at(column).received >= plan.received_before(at(column).sent);
  }
  void pass_empty(int column) {
    Column& c = at(column);
    while (c.sent < 2 && plan.sent(c.sent, column).elements == 0) ++c.sent;
    while (c.received < 2 && plan.received(c.received, column).elements == 0) ++c.received;
  }
  GatherPlan plan;
  std::vector<int> values;
  std::vector<Column> columns;
};

void send(Gathering& from, Gathering& to, int column) {
  const std::int64_t turn = from.at(column).sent++;
  ASSERT_EQ(turn, to.at(column).received++) << "a turn comes before the one before it";
  const auto [begin, elements] = from.plan.sent(turn, column);
  ASSERT_EQ(begin, to.plan.received(turn, column).begin);
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(begin + elements); ++i) {
    ASSERT_GE(from.values[i], 0) << "sent before it was there";
    ASSERT_EQ(std::exchange(to.values[i], from.values[i]), -1) << "sent twice";
  }
  from.pass_empty(column);
  to.pass_empty(column);
}

/// The chunks that it took.
int gather(std::vector<Gathering>& ranks) {
  int chunks = 0;
  for (int before = -1; chunks != std::exchange(before, chunks);)
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      for (int column = 0; column < ranks[rank].plan.columns(); ++column)
        if (ranks[rank].may_send(column)) {
          send(ranks[rank], ranks[(rank + 1) % ranks.size()], column);
          ++chunks;
        }
  return chunks;
}

void expect_everywhere(int count, std::int64_t portion, std::size_t chunk_bytes) {
  std::vector<Gathering> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.emplace_back(count, rank, portion, chunk_bytes);
  const std::int64_t chunk_elements = static_cast<std::int64_t>(chunk_bytes / 8);
  const int columns = ranks[0].plan.columns();
  EXPECT_EQ(columns, (count * portion + chunk_elements - 1) / chunk_elements);
  EXPECT_LE(gather(ranks), 2 * (count - 1) * columns);
  for (const Gathering& rank : ranks)
    for (std::size_t i = 0; i < rank.values.size(); ++i)
      ASSERT_EQ(rank.values[i], static_cast<int>(i) / static_cast<int>(portion));
}

TEST(GatherPlan, brings_every_ranks_portion_to_all_ranks_once) {
  for (const int ranks : {2, 3, 5, 12})
    for (const std::int64_t portion : {1, 7})
      for (const std::size_t chunk_bytes : {64, 4096}) expect_everywhere(ranks, portion, chunk_bytes);
}

}  // namespace
}  // namespace tenax::comm
