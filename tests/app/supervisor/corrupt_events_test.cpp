#include "app/supervisor/corrupt_events.hpp"

#include <gtest/gtest.h>

namespace tenax::app {
namespace {

using resilience::CorruptBy;
using resilience::StateCorrupt;

/// Two ranks that hold a model of one layer.
StatePlaces places_of() {
  io::Deck deck;
  deck.model.num_layers = 1;
  deck.model.hidden_size = 8;
  deck.model.ffn_hidden_size = 32;
  deck.model.seq_length = 4;
  deck.model.vocab_size = 16;
  deck.parallel.pipeline_parallel_size = 2;
  return StatePlaces(deck);
}

std::string host_of(int replica, int rank) {
  return "r" + std::to_string(replica) + "." + std::to_string(rank);
}

/// By a digest that differs in these parts at the place.
StateCorrupt corrupt_of(std::vector<resilience::ReplicaId> replicas, std::initializer_list<std::size_t> parts,
                        std::int64_t place) {
  StateCorrupt corrupt{.by = CorruptBy::digest, .replicas = std::move(replicas), .commits = 3};
  corrupt.right.digest.emplace();
  corrupt.wrong.digest.emplace();
  for (const std::size_t part : parts)
    corrupt.wrong.digest->parts[part].add(77 + part, static_cast<std::uint64_t>(place));
  return corrupt;
}

TEST(StatePlaces, number_each_parameter_of_each_rank_and_find_it_again) {
  const StatePlaces places = places_of();
  EXPECT_EQ(places.count(), 2 * 16);
  EXPECT_EQ(places.place(0, "wte.weight"), 1);
  for (const int rank : {0, 1})
    for (const char* tensor : {"wte.weight", "h.0.attn.c_attn.bias", "ln_f.bias"}) {
      const std::int64_t place = places.place(rank, tensor);
      EXPECT_EQ(places.rank_of(place), rank);
      EXPECT_EQ(places.tensor_of(place), tensor);
    }
  EXPECT_EQ(places.parts(), (std::vector<std::string>{"weight", "exp_avg", "exp_avg_sq"}));
}

TEST(CorruptEvents, say_where_the_cause_is_and_not_what_follows_from_it) {
  const StatePlaces places = places_of();
  const std::int64_t place = places.place(1, "ln_f.bias");
  const auto part = [&](std::initializer_list<std::size_t> parts) {
    return corrupt_place(corrupt_of({{0, 1}}, parts, place), places).part;
  };
  EXPECT_EQ(part({0}), "weight");
  EXPECT_EQ(part({0, 1}), "exp_avg");
  EXPECT_EQ(part({0, 2}), "exp_avg_sq");
  EXPECT_EQ(part({0, 1, 2}), "sum");
}

TEST(CorruptEvents, name_the_replica_its_rank_and_that_ranks_host) {
  const StatePlaces places = places_of();
  const StateCorrupt corrupt = corrupt_of({{2, 1}}, {0}, places.place(1, "ln_f.bias"));
  const CorruptPlace place = corrupt_place(corrupt, places);
  const auto events = corrupt_events(corrupt, place, host_of);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "corrupt");
  EXPECT_EQ(events[0].replica, 2);
  EXPECT_EQ(events[0].rank, 1);
  EXPECT_EQ(events[0].host, "r2.1");
  EXPECT_EQ(events[0].details.text(),
            R"({"tensor": "ln_f.bias", "part": "weight", "commits": 3, "by": "digest"})");
  EXPECT_EQ(corrupt_line(corrupt, place), "replica 2 is corrupt: weight of ln_f.bias on rank 1");
}

TEST(CorruptEvents, name_no_replica_where_nobody_can_say_which) {
  const StatePlaces places = places_of();
  StateCorrupt corrupt = corrupt_of({{0, 1}, {1, 1}}, {0}, places.place(0, "wpe.weight"));
  corrupt.is_tie = true;
  corrupt.trusted = 20;
  const CorruptPlace place = corrupt_place(corrupt, places);
  const auto events = corrupt_events(corrupt, place, host_of);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(events[0].replica);
  EXPECT_EQ(events[0].rank, 0);
  EXPECT_EQ(
      events[0].details.text(),
      R"({"tensor": "wpe.weight", "part": "weight", "commits": 3, "by": "digest", "replicas": [0, 1]})");
  EXPECT_EQ(
      corrupt_line(corrupt, place),
      "replicas 0 1 differ in weight of wpe.weight on rank 0: back to a checkpoint of at most 20 steps");
}

TEST(CorruptEvents, leave_out_a_place_that_is_not_known) {
  const StatePlaces places = places_of();
  StateCorrupt corrupt{.by = CorruptBy::squares, .replicas = {{1, 1}}};
  corrupt.wrong.sums.add(5, 3);
  corrupt.wrong.sums.add(6, 4);
  const CorruptPlace place = corrupt_place(corrupt, places);
  EXPECT_EQ(place.rank, -1);
  EXPECT_EQ(corrupt_events(corrupt, place, host_of)[0].details.text(),
            R"({"part": "sum", "commits": 0, "by": "squares"})");
}

}  // namespace
}  // namespace tenax::app
