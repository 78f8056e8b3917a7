// What a group of threads computes of one row of the embedding. Runs on the host and on the GPU.
#pragma once

#include <cstdint>

#include "kernels/cuda/group.hpp"
#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// wpe may be null.
template <class T>
struct EmbeddingRows {
  const std::int32_t* tokens;
  const T *wte, *wpe;
  T* out;
  std::int64_t length, columns, vocab_begin, vocab;
};

/// `source` may be null: zeros.
template <int kCount, class T>
TENAX_HOST_DEVICE Pack<Accumulator<T>, kCount> load_or_zero(const T* source) {
  return source ? load<kCount>(source) : Pack<Accumulator<T>, kCount>{};
}

template <int kCount, class Group, class T>
TENAX_HOST_DEVICE void embedding_forward_row(Group group, const EmbeddingRows<T>& e, std::int64_t row) {
  const std::int64_t token = e.tokens[row] - e.vocab_begin;
  const T* const of_token = token >= 0 && token < e.vocab ? e.wte + token * e.columns : nullptr;
  const T* const of_position = e.wpe ? e.wpe + row % e.length * e.columns : nullptr;
  T* const out = e.out + row * e.columns;
  const std::int64_t step = group.size() * kCount;
  for (std::int64_t i = group.rank() * kCount; i < e.columns; i += step)
    store(out + i, load_or_zero<kCount>(of_token ? of_token + i : nullptr) +
                       load_or_zero<kCount>(of_position ? of_position + i : nullptr));
}

}  // namespace tenax::kernels::cuda
