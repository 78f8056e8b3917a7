#include "parallel/replica/element_holders.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tenax::parallel {
namespace {

LayoutRequest request_of(GridShape grid) {
  LayoutRequest request;
  request.model = {.num_layers = 4,
                   .hidden_size = 32,
                   .num_attention_heads = 4,
                   .ffn_hidden_size = 128,
                   .seq_length = 8,
                   .vocab_size = 200,
                   .compute_dtype = kernels::DType::f32};
  request.grid = grid;
  request.microbatch = {1, 8};
  return request;
}

std::vector<ElementHolder> holders(GridShape grid, const std::string& name, ElementRange elements) {
  return find_holders(request_of(grid), ProcessGrid(grid), name, elements);
}

/// How often each element is held, of the state that checkpoints have.
std::map<std::int64_t, int> owners(const std::vector<ElementHolder>& holders) {
  std::map<std::int64_t, int> count;
  for (const ElementHolder& holder : holders)
    for (const ElementRange& range : holder.state)
      for (std::int64_t i = range.begin; i < range.end && holder.writes; ++i) ++count[i];
  return count;
}

TEST(ElementHolders, of_one_rank_are_that_rank) {
  const auto found = holders({}, "h.2.mlp.c_fc.weight", {7, 40});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 0);
  EXPECT_EQ(found[0].weights, (std::vector<ElementRange>{{7, 40}}));
  EXPECT_EQ(found[0].state, found[0].weights);
  EXPECT_TRUE(holders({}, "h.4.mlp.c_fc.weight", {0, 1}).empty());
}

TEST(ElementHolders, of_a_layer_are_on_its_stage_alone) {
  const auto first = holders({1, 2, 1}, "h.0.ln_1.weight", {0, 32});
  const auto last = holders({1, 2, 1}, "h.3.ln_1.weight", {0, 32});
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(first[0].rank, 0);
  EXPECT_EQ(last[0].rank, 1);
  EXPECT_EQ(last[0].at.pipeline, 1);
}

// c_fc [32, 128] is cut by columns: each of two ranks has half of every row.
TEST(ElementHolders, of_a_matrix_cut_by_columns_take_turns_in_each_row) {
  const auto found = holders({2, 1, 1}, "h.1.mlp.c_fc.weight", {120, 330});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].weights, (std::vector<ElementRange>{{128, 192}, {256, 320}}));
  EXPECT_EQ(found[1].weights, (std::vector<ElementRange>{{120, 128}, {192, 256}, {320, 330}}));
}

// q, k and v lie side by side, and each is cut on its own.
TEST(ElementHolders, of_attention_have_their_share_of_q_k_and_v) {
  const auto found = holders({2, 1, 1}, "h.1.attn.c_attn.bias", {0, 96});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].weights, (std::vector<ElementRange>{{0, 16}, {32, 48}, {64, 80}}));
  EXPECT_EQ(found[1].weights, (std::vector<ElementRange>{{16, 32}, {48, 64}, {80, 96}}));
}

TEST(ElementHolders, of_data_ranks_all_have_the_weights_and_one_the_state) {
  const auto found = holders({1, 1, 3}, "h.1.mlp.c_fc.weight", {0, 4096});
  ASSERT_EQ(found.size(), 3U);
  std::int64_t state = 0;
  for (const ElementHolder& holder : found) {
    EXPECT_EQ(holder.weights, (std::vector<ElementRange>{{0, 4096}}));
    for (const ElementRange& range : holder.state) state += range.size();
  }
  EXPECT_EQ(state, 4096);
}

TEST(ElementHolders, own_each_element_of_the_model_once) {
  for (const GridShape grid : {GridShape{2, 2, 2}, GridShape{1, 4, 3}, GridShape{4, 1, 2}})
    for (const char* name : {"wte.weight", "wpe.weight", "h.0.attn.c_attn.weight", "h.3.mlp.c_proj.weight",
                             "h.2.ln_2.bias", "ln_f.weight"}) {
      const std::int64_t size = std::string(name) == "wte.weight" ? 6400 : 32;
      const auto count = owners(holders(grid, name, {0, size}));
      EXPECT_EQ(count.size(), static_cast<std::size_t>(size)) << name;
      for (const auto& [element, times] : count) EXPECT_EQ(times, 1) << name << " " << element;
    }
}

TEST(ElementHolders, of_the_tied_embedding_are_on_both_ends_of_a_pipeline) {
  const auto found = holders({1, 4, 1}, "wte.weight", {100, 110});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at.pipeline, 0);
  EXPECT_TRUE(found[0].writes);
  EXPECT_EQ(found[1].at.pipeline, 3);
  EXPECT_FALSE(found[1].writes);
}

TEST(ElementHolders, are_where_their_places_are) {
  const GridShape grid{1, 2, 1};
  const auto found = find_holders(request_of(grid), ProcessGrid(grid, {1, 0}, 1), "h.3.ln_1.weight", {0, 32});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 0);
  EXPECT_EQ(found[0].at.pipeline, 1);
}

}  // namespace
}  // namespace tenax::parallel
