// Bytes moved through device memory, per element of bf16: 2. The chunks' sums stay in the second-level cache.
#include "kernels/cuda/operations.hpp"

#include <algorithm>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/row_launch.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kRowGroups = 8;              ///< warps of a block that share the rows of a chunk
constexpr int kChunkGroups = 32;           ///< the same of the second stage
constexpr std::int64_t kMinimumRows = 64;  ///< of a chunk
constexpr std::int64_t kBlocks = 8 * kMultiprocessors;

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class T>
struct ColumnChunks {
  const T* x;
  std::int64_t rows, columns, chunk_rows;
  Accumulator<T>* partials;  ///< [chunks, columns]
};

template <int kCount, class T>
__global__ void __launch_bounds__(kWarp* kRowGroups) column_chunks_kernel(ColumnChunks<T> op) {
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x) * kCount;
  const std::int64_t begin = blockIdx.y * op.chunk_rows;
  const std::int64_t rows = column < op.columns ? std::min(op.chunk_rows, op.rows - begin) : 0;
  const auto sums =
      sum_columns<kCount>(ColumnGroup<kRowGroups>{}, op.x + begin * op.columns + column, op.columns, rows);
  if (column < op.columns && threadIdx.y == 0) {
    Accumulator<T>* const to = op.partials + blockIdx.y * op.columns + column;
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) to[i] = sums.at[i];
  }
}

template <class A>
__global__ void __launch_bounds__(kWarp* kChunkGroups) sum_chunks_kernel(ChunkSums<A> sums) {
  sum_chunks(ColumnGroup<kChunkGroups>{}, sums, static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x);
}

template <int kCount, class T>
void sum_rows(cudaStream_t stream, const Tensor& d_y, const Tensor& d_bias, bool accumulate,
              Workspace& workspace) {
  using A = Accumulator<T>;
  const std::int64_t rows = d_y.rows(), columns = d_bias.size();
  const std::int64_t tiles = quotient_up(columns, kWarp * kCount);
  const std::int64_t wanted =
      std::clamp<std::int64_t>(kBlocks / tiles, 1, std::max<std::int64_t>(1, rows / kMinimumRows));
  const std::int64_t chunk_rows = std::max<std::int64_t>(1, quotient_up(rows, wanted));
  const std::int64_t chunks = std::max<std::int64_t>(1, quotient_up(rows, chunk_rows));
  auto* const partials =
      static_cast<A*>(workspace.take(static_cast<std::size_t>(chunks * columns) * sizeof(A)));
  const ColumnChunks<T> op{d_y.as<T>(), rows, columns, chunk_rows, partials};
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(chunks));
  column_chunks_kernel<kCount><<<grid, dim3(kWarp, kRowGroups), 0, stream>>>(op);
  check_launch("bias_gradient");
  sum_chunks(stream, ChunkSums<A>{partials, chunks, columns, d_bias.as<A>(), nullptr, accumulate});
}

}  // namespace

template <class A>
void sum_chunks(cudaStream_t stream, const ChunkSums<A>& sums) {
  const dim3 grid(static_cast<unsigned>(quotient_up(sums.width(), kWarp)));
  sum_chunks_kernel<<<grid, dim3(kWarp, kChunkGroups), 0, stream>>>(sums);
  check_launch("sum_chunks");
}
template void sum_chunks(cudaStream_t, const ChunkSums<float>&);
template void sum_chunks(cudaStream_t, const ChunkSums<double>&);

void load_column_sum_kernels() {
  load(sum_chunks_kernel<float>, sum_chunks_kernel<double>);
  for_each_type([](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) <= 4) load(column_chunks_kernel<kWidth, T>);
    load(column_chunks_kernel<1, T>);
  });
}

void bias_gradient(cudaStream_t stream, const BiasGradientArgs& args, Workspace& workspace) {
  assert(args.d_y.columns() == args.d_bias.size());
  if (args.d_bias.size() == 0) return;
  with_type(args.d_y.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) <= 4)
      if (args.d_bias.size() % kWidth == 0 && are_aligned(args.d_y.data))
        return sum_rows<kWidth, T>(stream, args.d_y, args.d_bias, args.accumulate, workspace);
    sum_rows<1, T>(stream, args.d_y, args.d_bias, args.accumulate, workspace);
  });
}

}  // namespace tenax::kernels::cuda
