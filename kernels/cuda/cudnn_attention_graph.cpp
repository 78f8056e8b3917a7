// scores = scale · q·kᵀ, masked above the diagonal; then softmax, whose log-sum-exp (natural logarithm, of
// the scaled scores) is kept; out = weights · v. Backward: weights = exp(scores − log_sum_exp), and the
// textbook's formulas. cuDNN runs each as one engine (forward) or a few kernels (backward): nothing of [T, T]
// is stored by the forward pass.
#include "kernels/cuda/cudnn_attention_graph.hpp"

namespace tenax::kernels::cuda {
namespace {

// The layouts of one attention: heads as views of packed rows, scores, and one number per row.
struct Layouts {
  explicit Layouts(const AttentionShape& s)
      : in_qkv(rows_of(s, 3)),
        in_out(rows_of(s, 1)),
        packed_rows(CudnnLayout::packed(s.sequences, s.heads, s.length, s.head_size)),
        scores(CudnnLayout::packed(s.sequences, s.heads, s.length, s.length)),
        row_numbers(CudnnLayout::packed(s.sequences, s.heads, s.length, 1)) {}
  static CudnnLayout rows_of(const AttentionShape& s, std::int64_t parts) {
    const std::int64_t row = parts * s.hidden();
    return {{s.sequences, s.heads, s.length, s.head_size}, {s.length * row, s.head_size, row, 1}};
  }
  CudnnLayout in_qkv, in_out, packed_rows, scores, row_numbers;
};

constexpr auto kElement = CUDNN_DATA_BFLOAT16;
constexpr auto kSum = CUDNN_DATA_FLOAT;

CudnnGraph::Id applied(CudnnGraph& graph, cudnnPointwiseMode_t mode,
                       std::initializer_list<CudnnGraph::Id> inputs, const CudnnLayout& layout) {
  const CudnnGraph::Id y = graph.intermediate(kSum, layout);
  graph.pointwise(mode, inputs, y);
  return y;
}

CudnnGraph::Id product(CudnnGraph& graph, CudnnGraph::Id a, CudnnGraph::Id b, const CudnnLayout& layout) {
  const CudnnGraph::Id c = graph.intermediate(kSum, layout);
  graph.matmul(a, b, c);
  return c;
}

CudnnGraph::Id reduced(CudnnGraph& graph, cudnnReduceTensorOp_t operation, CudnnGraph::Id x,
                       const CudnnLayout& layout) {
  const CudnnGraph::Id y = graph.intermediate(kSum, layout);
  graph.reduce(operation, x, y);
  return y;
}

// `masked` in place of the scores of keys after the query.
CudnnGraph::Id causal(CudnnGraph& graph, CudnnGraph::Id scores, CudnnGraph::Id masked,
                      const CudnnLayout& layout) {
  constexpr std::int64_t kRowAxis = 2, kColumnAxis = 3;
  const CudnnGraph::Id row = graph.intermediate(CUDNN_DATA_INT32, layout);
  graph.index(scores, row, kRowAxis);
  const CudnnGraph::Id column = graph.intermediate(CUDNN_DATA_INT32, layout);
  graph.index(scores, column, kColumnAxis);
  const CudnnGraph::Id seen = graph.intermediate(CUDNN_DATA_BOOLEAN, layout);
  graph.pointwise(CUDNN_POINTWISE_CMP_GE, {row, column}, seen);
  return applied(graph, CUDNN_POINTWISE_BINARY_SELECT, {scores, masked, seen}, layout);
}

// What a product takes as its first factor: bf16, the last two axes exchanged.
CudnnGraph::Id transposed_element(CudnnGraph& graph, CudnnGraph::Id x, const CudnnLayout& layout) {
  const CudnnGraph::Id y = graph.intermediate(kElement, layout.transposed());
  graph.reshape(x, y);
  return y;
}

}  // namespace

CudnnForwardGraph::CudnnForwardGraph(const AttentionShape& shape) {
  const Layouts at(shape);
  q = graph.tensor(kElement, at.in_qkv);
  k = graph.tensor(kElement, at.in_qkv.transposed());
  v = graph.tensor(kElement, at.in_qkv);
  scale = graph.number();
  masked = graph.number();
  out = graph.tensor(kElement, at.in_out);
  log_sum_exp = graph.tensor(kSum, at.row_numbers);

  const auto scaled =
      applied(graph, CUDNN_POINTWISE_MUL, {product(graph, q, k, at.scores), scale}, at.scores);
  const auto scores = causal(graph, scaled, masked, at.scores);
  const auto maximum = reduced(graph, CUDNN_REDUCE_TENSOR_MAX, scores, at.row_numbers);
  const auto lowered = applied(graph, CUDNN_POINTWISE_SUB, {scores, maximum}, at.scores);
  const auto exponentials = applied(graph, CUDNN_POINTWISE_EXP, {lowered}, at.scores);
  const auto sum = reduced(graph, CUDNN_REDUCE_TENSOR_ADD, exponentials, at.row_numbers);
  const auto logarithm = applied(graph, CUDNN_POINTWISE_LOG, {sum}, at.row_numbers);
  graph.pointwise(CUDNN_POINTWISE_ADD, {maximum, logarithm}, log_sum_exp);
  const auto weights = graph.intermediate(kElement, at.scores);
  graph.pointwise(CUDNN_POINTWISE_DIV, {exponentials, sum}, weights);
  graph.matmul(weights, v, out);
}

CudnnBackwardGraph::CudnnBackwardGraph(const AttentionShape& shape, QuerySums sums) {
  const Layouts at(shape);
  q = graph.tensor(kElement, at.in_qkv);
  k = graph.tensor(kElement, at.in_qkv.transposed());
  v = graph.tensor(kElement, at.in_qkv.transposed());
  out = graph.tensor(kElement, at.in_out);
  d_out = graph.tensor(kElement, at.in_out);
  log_sum_exp = graph.tensor(kSum, at.row_numbers);
  scale = graph.number();
  masked = graph.number();
  one = graph.number();
  output_dots = graph.tensor(kSum, at.row_numbers);
  d_q = graph.tensor(kElement, at.in_qkv);
  d_k = graph.tensor(kElement, at.in_qkv);
  d_v = graph.tensor(kElement, at.in_qkv);

  // The factor one stands where dropout's would: cuDNN knows the pattern by it.
  const auto dots =
      reduced(graph, CUDNN_REDUCE_TENSOR_ADD,
              applied(graph, CUDNN_POINTWISE_MUL, {d_out, out}, at.packed_rows), at.row_numbers);
  graph.pointwise(CUDNN_POINTWISE_MUL, {dots, one}, output_dots);

  const auto scaled =
      applied(graph, CUDNN_POINTWISE_MUL, {product(graph, q, k, at.scores), scale}, at.scores);
  const auto lowered = applied(graph, CUDNN_POINTWISE_SUB, {scaled, log_sum_exp}, at.scores);
  const auto weights =
      applied(graph, CUDNN_POINTWISE_EXP, {causal(graph, lowered, masked, at.scores)}, at.scores);
  graph.matmul(transposed_element(graph, weights, at.scores), d_out, d_v);

  const auto centred =
      applied(graph, CUDNN_POINTWISE_SUB, {product(graph, d_out, v, at.scores), output_dots}, at.scores);
  const auto weighted = applied(graph, CUDNN_POINTWISE_MUL, {centred, weights}, at.scores);
  const auto d_scores = applied(graph, CUDNN_POINTWISE_MUL, {weighted, scale}, at.scores);
  graph.matmul(transposed_element(graph, d_scores, at.scores), q, d_k);

  const auto keys = transposed_element(graph, k, at.in_qkv.transposed());
  if (sums == QuerySums::from_scores) {
    graph.matmul(d_scores, keys, d_q);
  } else {
    d_q_sums = graph.tensor(kSum, at.packed_rows);
    graph.matmul(d_scores, keys, *d_q_sums);
    graph.pointwise(CUDNN_POINTWISE_IDENTITY, {*d_q_sums}, d_q);
  }
}

}  // namespace tenax::kernels::cuda
