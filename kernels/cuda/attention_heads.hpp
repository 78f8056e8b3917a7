// Where the heads of an attention operation lie, for the own kernels: what they take as one argument.
#pragma once

#include "kernels/cuda/attention_shape.hpp"
#include "kernels/cuda/attention_tile.hpp"

namespace tenax::kernels::cuda {

/// Head `index` of part `part` of a tensor [sequences, T, parts · hidden].
template <class Element>
TENAX_HOST_DEVICE HeadMatrix<Element> head_of(const AttentionShape& shape, Element* data, std::int64_t index,
                                              int parts, int part) {
  const std::int64_t sequence = index / shape.heads, head = index % shape.heads, row = parts * shape.hidden();
  return {data + sequence * shape.length * row + part * shape.hidden() + head * shape.head_size, row,
          shape.length, shape.head_size};
}

template <class Element>
struct AttentionForward {
  using Real = Accumulator<Element>;
  AttentionShape shape;
  const Element* qkv;
  Element* out;
  Real* log_sum_exp;
  Real scale;
};

/// d_q and d_kv: the gradients' tensors [.., 3 · hidden], of which d_q is written at part 0 of
/// `d_q_parts` parts.
template <class Element>
struct AttentionBackward {
  using Real = Accumulator<Element>;
  AttentionShape shape;
  const Element *qkv, *out, *d_out;
  const Real* log_sum_exp;
  Real* output_dots;  ///< [sequences, heads, T]: out · d_out of each row
  Element *d_q, *d_kv;
  int d_q_parts;
  Real scale;
};

}  // namespace tenax::kernels::cuda
