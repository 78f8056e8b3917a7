// OpCost: the fewest floating-point operations and bytes of device memory that an operation cannot do without: each input
// read once, each output written once. Over the machine's two rates they give the time that no version can beat.
#pragma once

#include "kernels/kernels.hpp"

namespace tenax::bench {

struct OpCost {
  double flop = 0;  ///< of matrix products and attention; elsewhere arithmetic is free
  double bytes = 0;
};

OpCost cost_of(const kernels::MatmulArgs& args);
OpCost cost_of(const kernels::LinearForwardArgs& args);
OpCost cost_of(const kernels::LinearGeluForwardArgs& args);
OpCost cost_of(const kernels::LinearBackwardInputArgs& args);
OpCost cost_of(const kernels::LinearGeluBackwardInputArgs& args);
OpCost cost_of(const kernels::LinearBackwardWeightArgs& args);
OpCost cost_of(const kernels::BiasGradientArgs& args);
OpCost cost_of(const kernels::GeluForwardArgs& args);
OpCost cost_of(const kernels::GeluBackwardArgs& args);
OpCost cost_of(const kernels::LayerNormForwardArgs& args);
OpCost cost_of(const kernels::ResidualLayerNormForwardArgs& args);
OpCost cost_of(const kernels::LayerNormBackwardArgs& args);
OpCost cost_of(const kernels::ResidualAddArgs& args);
OpCost cost_of(const kernels::ChunkSumArgs& args);
/// Causal: half of the T×T products.
OpCost cost_of(const kernels::AttentionForwardArgs& args);
OpCost cost_of(const kernels::AttentionBackwardArgs& args);
OpCost cost_of(const kernels::EmbeddingForwardArgs& args);
OpCost cost_of(const kernels::EmbeddingBackwardArgs& args);
OpCost cost_of(const kernels::CrossEntropyForwardArgs& args);
OpCost cost_of(const kernels::CrossEntropyRescaleArgs& args);
OpCost cost_of(const kernels::CrossEntropyLossArgs& args);
OpCost cost_of(const kernels::CrossEntropyBackwardArgs& args);
OpCost cost_of(const kernels::UpdateCoefficientsArgs& args);
OpCost cost_of(const kernels::UpdateArgs& args);
OpCost cost_of(const kernels::SumOfSquaresArgs& args);
/// zero (source absent), copy, cast: reads `source`, writes `destination`; `accumulates`: reads it too (add, maximum).
OpCost cost_of_elementwise(const kernels::Tensor& source, const kernels::Tensor& destination,
                           bool accumulates);

}  // namespace tenax::bench
