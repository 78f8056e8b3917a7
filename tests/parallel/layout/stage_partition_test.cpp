#include "parallel/layout/stage_partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "tests/parallel/expect_error.hpp"

namespace tenax::parallel {
namespace {

double largest_part(const std::vector<double>& costs, const std::vector<int>& counts) {
  double largest = 0;
  auto item = costs.begin();
  for (const int count : counts) {
    largest = std::max(largest, std::accumulate(item, item + count, 0.0));
    item += count;
  }
  return largest;
}

/// The least largest part over all ways to cut.
double exhaustive_optimum(const std::vector<double>& costs, std::vector<int> counts, int stages) {
  const int left = static_cast<int>(costs.size()) - std::accumulate(counts.begin(), counts.end(), 0);
  if (stages == 1) {
    counts.push_back(left);
    return largest_part(costs, counts);
  }
  double best = std::numeric_limits<double>::infinity();
  for (int count = 1; count <= left - (stages - 1); ++count) {
    std::vector<int> longer = counts;
    longer.push_back(count);
    best = std::min(best, exhaustive_optimum(costs, longer, stages - 1));
  }
  return best;
}

TEST(SplitEvenly, is_optimal_against_all_ways_to_cut) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const int items = 1 + static_cast<int>(random() % 9);
    const int stages = 1 + static_cast<int>(random() % static_cast<unsigned>(items));
    std::vector<double> costs;
    for (int i = 0; i < items; ++i) costs.push_back(0.1 * static_cast<double>(1 + random() % 20));
    const std::vector<int> counts = split_evenly(costs, stages);
    EXPECT_EQ(static_cast<int>(counts.size()), stages);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), items);
    EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 1);
    EXPECT_NEAR(largest_part(costs, counts), exhaustive_optimum(costs, {}, stages), 1e-9);
  }
}

TEST(SplitEvenly, prefers_even_parts_and_then_fewer_items_late) {
  EXPECT_EQ(split_evenly(std::vector<double>(7, 0.1), 2), (std::vector<int>{4, 3}));
  EXPECT_EQ(split_evenly(std::vector<double>(10, 0.1), 4), (std::vector<int>{3, 3, 2, 2}));
  // The last item alone decides the maximum: what is left to choose is evenness.
  EXPECT_EQ(split_evenly({1, 1, 1, 1, 9}, 3), (std::vector<int>{2, 2, 1}));
}

model::GptConfig gpt(std::int64_t layers, std::int64_t hidden, std::int64_t vocab) {
  return {.num_layers = layers,
          .hidden_size = hidden,
          .num_attention_heads = 6,
          .ffn_hidden_size = 4 * hidden,
          .seq_length = 256,
          .vocab_size = vocab};
}

std::vector<std::int64_t> layers_of(const std::vector<model::StageSpan>& spans) {
  std::vector<std::int64_t> layers;
  for (const model::StageSpan& span : spans) layers.push_back(span.end_layer - span.first_layer);
  return layers;
}

std::vector<model::StageSpan> partition(const model::GptConfig& config, int stages) {
  return partition_stages(config, stages, estimate_layer_costs(config, 1024, 1, 1e11));
}

TEST(PartitionStages, takes_blocks_off_the_stage_that_has_the_head) {
  EXPECT_EQ(layers_of(partition(gpt(12, 384, 8192), 2)), (std::vector<std::int64_t>{7, 5}));
  // GPT-2 sized vocabulary at width 384: the head is worth some eleven blocks.
  EXPECT_EQ(layers_of(partition(gpt(6, 384, 50304), 2)), (std::vector<std::int64_t>{5, 1}));
  EXPECT_EQ(layers_of(partition(gpt(8, 384, 256), 4)), (std::vector<std::int64_t>{2, 2, 2, 2}));
}

TEST(PartitionStages, gives_consecutive_spans_with_embedding_first_and_head_last) {
  const auto spans = partition(gpt(7, 384, 1024), 3);
  ASSERT_EQ(spans.size(), 3u);
  std::int64_t next = 0;
  for (std::size_t stage = 0; stage < spans.size(); ++stage) {
    EXPECT_EQ(spans[stage].first_layer, next);
    EXPECT_EQ(spans[stage].has_embedding, stage == 0);
    EXPECT_EQ(spans[stage].has_head, stage == 2);
    next = spans[stage].end_layer;
  }
  EXPECT_EQ(next, 7);
}

TEST(PartitionStages, gives_one_stage_everything) {
  const auto spans = partition(gpt(4, 384, 1024), 1);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_TRUE(spans[0].has_embedding && spans[0].has_head);
}

TEST(PartitionStages, refuses_fewer_layers_than_stages) {
  expect_error(kernels::Scope::usage, {"model.num_layers = 3", "parallel.pipeline_parallel_size = 4"},
               [] { partition(gpt(3, 384, 1024), 4); });
}

TEST(LayerCosts, add_up_to_the_models_training_flop) {
  model::GptConfig config = gpt(12, 768, 50304);
  config.seq_length = 1024;
  const double tokens = 2048;
  const LayerCosts layers = estimate_layer_costs(config, tokens, 1, 1.0);
  const PipelineCosts costs = pipeline_costs(partition_stages(config, 3, layers), layers);
  double flop = 0;
  for (const StageCosts& stage : costs.stages)
    flop += stage.forward_s + stage.backward_input_s + stage.backward_weight_s;
  // The config's figure counts attention in full, ours half of it (causal) and a recomputed product.
  EXPECT_NEAR(flop / tokens, config.flop_per_token(), 0.06 * config.flop_per_token());
}

}  // namespace
}  // namespace tenax::parallel
