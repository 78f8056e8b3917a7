#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/embedding_backward_body.hpp"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/radix_sort.hpp"
#include "kernels/cuda/scratch_plan.hpp"

namespace tenax::kernels::cuda {
namespace {

/// Of a block at most; it has a tile or a position, and as many threads as it has packs of columns.
constexpr int kEmbeddingThreads = 256;

__global__ void key_kernel(const std::int32_t* tokens, std::int64_t vocab_begin, std::uint32_t vocab,
                           int count, std::uint32_t* keys, std::int32_t* rows) {
  const int row = static_cast<int>(blockIdx.x) * kEmbeddingThreads + static_cast<int>(threadIdx.x);
  if (row >= count) return;
  const std::int64_t token = tokens[row] - vocab_begin;
  keys[row] = token >= 0 && token < vocab ? static_cast<std::uint32_t>(token) : vocab;
  rows[row] = row;
}

template <int kCount, class T, class A>
__global__ void __launch_bounds__(kEmbeddingThreads) tile_kernel(const SortedTokens<T, A> sorted) {
  sum_token_tile<kCount>(DeviceGroup{}, sorted, blockIdx.x);
}

template <int kCount, class T, class A>
__global__ void __launch_bounds__(kEmbeddingThreads) join_kernel(const SortedTokens<T, A> sorted) {
  join_token_tiles<kCount>(DeviceGroup{}, sorted, blockIdx.x);
}

template <int kCount, class T, class A>
__global__ void __launch_bounds__(kEmbeddingThreads)
    position_kernel(const T* d_x, A* d_wpe, std::int64_t sequences, std::int64_t length,
                    std::int64_t columns) {
  sum_position<kCount>(DeviceGroup{}, d_x, d_wpe, sequences, length, columns, blockIdx.x);
}

// Sorts the tokens; d_x, d_wte and columns of the result are left to the caller.
SortPairs sort_tokens(cudaStream_t stream, const EmbeddingBackwardArgs& args, SortPairs pairs,
                      std::byte* memory, const EmbeddingBackwardScratch& scratch) {
  auto* const keys = reinterpret_cast<std::uint32_t*>(memory + scratch.keys);
  auto* const rows = reinterpret_cast<std::int32_t*>(memory + scratch.rows);
  const auto blocks = static_cast<unsigned>((pairs.count + kEmbeddingThreads - 1) / kEmbeddingThreads);
  key_kernel<<<blocks, kEmbeddingThreads, 0, stream>>>(args.tokens.as<std::int32_t>(), args.vocab_begin,
                                                       static_cast<std::uint32_t>(args.d_wte.shape[0]),
                                                       pairs.count, keys, rows);
  check_launch("embedding_backward: keys");
  pairs.keys = keys;
  pairs.values = rows;
  pairs.sorted_keys = reinterpret_cast<std::uint32_t*>(memory + scratch.sorted_keys);
  pairs.sorted_values = reinterpret_cast<std::int32_t*>(memory + scratch.sorted_rows);
  sort_pairs(stream, pairs, memory + scratch.sort, scratch.sort_bytes);
  return pairs;
}

template <int kCount, class T, class A>
void launch(cudaStream_t stream, const EmbeddingBackwardArgs& args, const SortedTokens<T, A>& sorted) {
  const std::int64_t packs = (sorted.columns + kCount - 1) / kCount;
  const auto threads =
      static_cast<unsigned>(std::min<std::int64_t>((packs + kWarp - 1) / kWarp * kWarp, kEmbeddingThreads));
  const auto tiles = static_cast<unsigned>(token_tiles(sorted.count));
  tile_kernel<kCount><<<tiles, threads, 0, stream>>>(sorted);
  check_launch("embedding_backward: tiles");
  join_kernel<kCount><<<tiles, threads, 0, stream>>>(sorted);
  check_launch("embedding_backward: join");
  if (!args.d_wpe) return;
  const std::int64_t length = args.tokens.columns();
  position_kernel<kCount><<<static_cast<unsigned>(length), threads, 0, stream>>>(
      sorted.d_x, args.d_wpe.as<A>(), sorted.count / length, length, sorted.columns);
  check_launch("embedding_backward: positions");
}

template <class T, class A = Accumulator<T>>
void run(cudaStream_t stream, const EmbeddingBackwardArgs& args, Workspace& workspace) {
  const std::int64_t tokens = args.tokens.size(), columns = args.d_x.columns();
  const auto vocab = static_cast<std::uint32_t>(args.d_wte.shape[0]);
  SortPairs pairs{.count = static_cast<int>(tokens), .key_bits = static_cast<int>(std::bit_width(vocab))};
  const EmbeddingBackwardScratch scratch(tokens, columns, args.d_wte.dtype, scratch_bytes_of(pairs));
  auto* const memory = static_cast<std::byte*>(workspace.take(scratch.bytes));
  pairs = sort_tokens(stream, args, pairs, memory, scratch);
  const SortedTokens<T> sorted{pairs.sorted_keys,
                               pairs.sorted_values,
                               tokens,
                               args.d_x.as<T>(),
                               args.d_wte.as<A>(),
                               reinterpret_cast<A*>(memory + scratch.partial),
                               columns,
                               vocab};
  if constexpr (sizeof(T) <= 4) {
    if (columns % kWidth == 0 && are_aligned(args.d_x.data, args.d_wte.data, args.d_wpe.data))
      return launch<kWidth>(stream, args, sorted);
  }
  launch<1>(stream, args, sorted);
}

template <int kCount, class T, class A = Accumulator<T>>
void load_sums() {
  load(tile_kernel<kCount, T, A>, join_kernel<kCount, T, A>, position_kernel<kCount, T, A>);
}

}  // namespace

void load_embedding_backward_kernels() {
  load(key_kernel);
  for_each_type([](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) <= 4) load_sums<kWidth, T>();
    load_sums<1, T>();
  });
}

void embedding_backward(cudaStream_t stream, const EmbeddingBackwardArgs& args, Workspace& workspace) {
  assert(args.d_wte.columns() == args.d_x.columns());
  assert(!args.d_wpe || args.d_wpe.shape[0] >= args.tokens.columns());
  assert(args.tokens.size() <= std::numeric_limits<int>::max());
  if (args.tokens.size() == 0) return;
  with_type(args.d_x.dtype, [&](auto type) { run<decltype(type)>(stream, args, workspace); });
}

}  // namespace tenax::kernels::cuda
