#include "parallel/layout/stage_partition.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

#include "kernels/error.hpp"

namespace tenax::parallel {
namespace {

double total(const StageCosts& costs) {
  return costs.forward_s + costs.backward_input_s + costs.backward_weight_s;
}

void add(StageCosts& sum, const StageCosts& part, double times) {
  sum.forward_s += times * part.forward_s;
  sum.backward_input_s += times * part.backward_input_s;
  sum.backward_weight_s += times * part.backward_weight_s;
}

/// Least cost of covering items [0, end) with `parts` parts, where a part [begin, end) costs part_cost(begin,
/// end) and costs join by join(a, b); last_begin remembers where the last part begins.
class PartitionTable {
 public:
  PartitionTable(int items, int parts)
      : items_(items),
        cost_(static_cast<std::size_t>((parts + 1) * (items + 1)), std::numeric_limits<double>::infinity()),
        last_begin_(cost_.size(), -1) {
    cost_[at(0, 0)] = 0;
  }

  template <class PartCost, class Join>
  void fill(int parts, PartCost part_cost, Join join) {
    for (int part = 1; part <= parts; ++part)
      for (int end = part; end <= items_; ++end)
        for (int begin = part - 1; begin < end; ++begin) {
          const double cost = join(cost_[at(part - 1, begin)], part_cost(begin, end));
          // At equal costs the later beginning wins: fewer items in the later part.
          if (cost == std::numeric_limits<double>::infinity()) continue;
          if (cost > cost_[at(part, end)] * (1 + kTie)) continue;
          cost_[at(part, end)] = std::min(cost, cost_[at(part, end)]);
          last_begin_[at(part, end)] = begin;
        }
  }

  double cost(int parts) const { return cost_[at(parts, items_)]; }

  std::vector<int> counts(int parts) const {
    std::vector<int> counts(static_cast<std::size_t>(parts));
    for (int part = parts, end = items_; part > 0; --part) {
      const int begin = last_begin_[at(part, end)];
      counts[static_cast<std::size_t>(part - 1)] = end - begin;
      end = begin;
    }
    return counts;
  }

  static constexpr double kTie = 1e-12;  // sums in another order differ by rounding

 private:
  std::size_t at(int part, int end) const { return static_cast<std::size_t>(part * (items_ + 1) + end); }

  int items_;
  std::vector<double> cost_;
  std::vector<int> last_begin_;
};

}  // namespace

LayerCosts estimate_layer_costs(const model::GptConfig& config, double tokens, int tensor_size,
                                double flop_per_s) {
  const auto h = static_cast<double>(config.hidden_size), f = static_cast<double>(config.ffn_hidden_size);
  const auto length = static_cast<double>(config.seq_length);
  const auto vocab = static_cast<double>(config.padded_vocab_size(tensor_size));
  const double seconds = tokens / tensor_size / flop_per_s;  // per FLOP and token
  // A linear costs 2·in·out a token in each of F, B and W. Causal attention: two products over half of T
  // keys forward; five backward, which recomputes the scores; no weights.
  const double linears = 2 * (4 * h * h + 2 * h * f) * seconds;
  const double attention = 2 * 2 * (length / 2) * h * seconds;
  const double head = 2 * h * vocab * seconds;
  // Gathering and scattering H numbers a token moves memory rather than computes: as long as some 40·H FLOP.
  const double gather = 40 * h * seconds;
  return {.embedding = {gather, 0, gather},
          .block = {linears + attention, linears + 2.5 * attention, linears},
          .head = {3 * head, 0, 0}};  // model/language_head.hpp
}

std::vector<int> split_evenly(const std::vector<double>& item_costs, int stages) {
  const int items = static_cast<int>(item_costs.size());
  assert(stages >= 1 && items >= stages);
  std::vector<double> sum_before{0};
  for (const double cost : item_costs) sum_before.push_back(sum_before.back() + cost);
  const auto part_cost = [&](int begin, int end) {
    return sum_before[static_cast<std::size_t>(end)] - sum_before[static_cast<std::size_t>(begin)];
  };

  PartitionTable smallest_maximum(items, stages);
  smallest_maximum.fill(stages, part_cost, [](double a, double b) { return std::max(a, b); });
  const double bound = smallest_maximum.cost(stages) * (1 + PartitionTable::kTie);

  PartitionTable most_even(items, stages);
  const auto square_within_bound = [&](int begin, int end) {
    const double cost = part_cost(begin, end);
    return cost > bound ? std::numeric_limits<double>::infinity() : cost * cost;
  };
  most_even.fill(stages, square_within_bound, [](double a, double b) { return a + b; });
  return most_even.counts(stages);
}

std::vector<model::StageSpan> partition_stages(const model::GptConfig& config, int stages,
                                               const LayerCosts& costs) {
  if (config.num_layers < stages)
    throw kernels::Error(kernels::Scope::usage,
                         "model.num_layers = " + std::to_string(config.num_layers) +
                             " is fewer than parallel.pipeline_parallel_size = " + std::to_string(stages) +
                             ": every pipeline stage needs a layer");
  // The embedding goes with the first block, the head with the last: neither is ever alone on a stage.
  std::vector<double> item_costs(static_cast<std::size_t>(config.num_layers), total(costs.block));
  item_costs.front() += total(costs.embedding);
  item_costs.back() += total(costs.head);
  std::vector<model::StageSpan> spans;
  std::int64_t first = 0;
  for (const int count : split_evenly(item_costs, stages)) {
    spans.push_back({.first_layer = first, .end_layer = first + count});
    first += count;
  }
  spans.front().has_embedding = true;
  spans.back().has_head = true;
  return spans;
}

PipelineCosts pipeline_costs(const std::vector<model::StageSpan>& spans, const LayerCosts& costs) {
  PipelineCosts pipeline;
  for (const model::StageSpan& span : spans) {
    StageCosts stage;
    add(stage, costs.block, static_cast<double>(span.end_layer - span.first_layer));
    if (span.has_embedding) add(stage, costs.embedding, 1);
    if (span.has_head) add(stage, costs.head, 1);
    pipeline.stages.push_back(stage);
  }
  return pipeline;
}

}  // namespace tenax::parallel
