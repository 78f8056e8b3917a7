#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

// token may be null (not in this shard), and position (no positions here).
template <class T>
void write_row(const T* token, const T* position, T* out, std::int64_t columns) {
  using A = Accumulator<T>;
  for (std::int64_t i = 0; i < columns; ++i) {
    const A t = token ? widen(token[i]) : A(0), p = position ? widen(position[i]) : A(0);
    out[i] = narrow<T>(t + p);
  }
}

template <class T, class A = Accumulator<T>>
void add_row(const T* d_x, A* gradient, std::int64_t columns) {
#pragma omp simd
  for (std::int64_t i = 0; i < columns; ++i) gradient[i] += widen(d_x[i]);
}

}  // namespace

void CpuKernels::embedding_forward(Stream& stream, const EmbeddingForwardArgs& args) {
  const std::int64_t columns = args.out.columns(), length = args.tokens.columns();
  const std::int64_t vocab_begin = args.vocab_begin, vocab = args.wte.shape[0];
  assert(args.wte.columns() == columns && (!args.wpe || args.wpe.shape[0] >= length));
  with_type(args.out.dtype, [&](auto type) {
    using T = decltype(type);
    const auto* const tokens = args.tokens.as<std::int32_t>();
    const T *const wte = args.wte.as<T>(), *const wpe = args.wpe ? args.wpe.as<T>() : nullptr;
    T* const out = args.out.as<T>();
    for_blocks(stream, args.tokens.size(), kRowBlock, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t token = tokens[row] - vocab_begin;
        write_row(token >= 0 && token < vocab ? wte + token * columns : nullptr,
                  wpe ? wpe + row % length * columns : nullptr, out + row * columns, columns);
      }
    });
  });
}

// Parallel over columns: each thread adds its columns of all rows in the order of the rows.
void CpuKernels::embedding_backward(Stream& stream, const EmbeddingBackwardArgs& args) {
  constexpr std::int64_t kColumnBlock = 128;
  const std::int64_t columns = args.d_x.columns(), length = args.tokens.columns();
  const std::int64_t rows = args.tokens.size(), vocab_begin = args.vocab_begin, vocab = args.d_wte.shape[0];
  assert(args.d_wte.columns() == columns && (!args.d_wpe || args.d_wpe.shape[0] >= length));
  with_type(args.d_x.dtype, [&](auto type) {
    using T = decltype(type);
    using A = Accumulator<T>;
    const auto* const tokens = args.tokens.as<std::int32_t>();
    const T* const d_x = args.d_x.as<T>();
    A *const d_wte = args.d_wte.as<A>(), *const d_wpe = args.d_wpe ? args.d_wpe.as<A>() : nullptr;
    for_blocks(stream, columns, kColumnBlock, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t token = tokens[row] - vocab_begin;
        const T* const source = d_x + row * columns + begin;
        if (token >= 0 && token < vocab) add_row(source, d_wte + token * columns + begin, end - begin);
        if (d_wpe) add_row(source, d_wpe + row % length * columns + begin, end - begin);
      }
    });
  });
}

}  // namespace tenax::kernels
