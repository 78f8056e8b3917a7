// Causal attention as a cuDNN graph, forward and backward: which operations, on which tensors.
#pragma once

#include <optional>

#include "kernels/cuda/attention_shape.hpp"
#include "kernels/cuda/cudnn_graph.hpp"

namespace tenax::kernels::cuda {

/// The graph, and the numbers of the tensors that an execution names.
struct CudnnForwardGraph {
  explicit CudnnForwardGraph(const AttentionShape& shape);
  CudnnGraph graph;
  CudnnGraph::Id q, k, v, scale, masked, out, log_sum_exp;
};

/// How the gradient of q is summed: apart, in fp32, in the order in which blocks finish, or in one order where
/// an engine has that; or in one go by whoever writes it, from the scores' gradients in scratch memory.
enum class QuerySums { apart, from_scores };

/// output_dots: [sequences, heads, T] of scratch memory, fp32. d_q_sums: as much as d_q in fp32; only where
/// they are summed apart.
struct CudnnBackwardGraph {
  CudnnBackwardGraph(const AttentionShape& shape, QuerySums sums);
  CudnnGraph graph;
  CudnnGraph::Id q, k, v, out, d_out, log_sum_exp, scale, masked, one, output_dots, d_q, d_k, d_v;
  std::optional<CudnnGraph::Id> d_q_sums;
};

}  // namespace tenax::kernels::cuda
