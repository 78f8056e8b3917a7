// Which blocks each pipeline stage holds, and what its passes are expected to take.
#pragma once

#include <vector>

#include "model/gpt_config.hpp"
#include "parallel/schedule/pipeline_costs.hpp"

namespace tenax::parallel {

/// What the parts of a GPT take per microbatch on one rank. The embedding runs on the first stage,
/// the head (final norm, logits, loss) on the last.
struct LayerCosts {
  StageCosts embedding, block, head;
};

/// Estimated from floating-point operations at flop_per_s (of one rank), for `tokens` tokens a
/// microbatch and `tensor_size` ranks sharing them. Matrix products and attention; the rest, a few
/// percent of block and head alike, is left out.
LayerCosts estimate_layer_costs(const model::GptConfig& config, double tokens, int tensor_size,
                                double flop_per_s);

/// How many consecutive items each of `stages` parts takes, each ≥ 1, so that the largest part's
/// sum is minimal; among those the most even (least sum of squares), then the one with fewer items
/// in later parts. Exact (dynamic programming). item_costs.size() ≥ stages.
std::vector<int> split_evenly(const std::vector<double>& item_costs, int stages);

/// Balanced by forward + backward cost. Throws Error(usage) when there are fewer layers than
/// stages.
std::vector<model::StageSpan> partition_stages(const model::GptConfig& config, int stages,
                                               const LayerCosts& costs);

/// The stages' costs, without link delays: what plan_schedule() and simulate() take.
PipelineCosts pipeline_costs(const std::vector<model::StageSpan>& spans, const LayerCosts& costs);

}  // namespace tenax::parallel
