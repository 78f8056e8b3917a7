#include "kernels/cuda/operations.hpp"

#include <cassert>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/embedding_body.hpp"
#include "kernels/cuda/kernel_loading.hpp"

namespace tenax::kernels::cuda {
namespace {

/// A warp to a row.
constexpr int kRowsOfBlock = 8;

template <int kCount, class T>
__global__ void __launch_bounds__(kWarp* kRowsOfBlock)
    embedding_kernel(const EmbeddingRows<T> e, std::int64_t rows) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.y;
  if (row < rows) embedding_forward_row<kCount>(DeviceGroup{}, e, row);
}

template <class T>
void launch(cudaStream_t stream, const EmbeddingRows<T>& e, std::int64_t rows) {
  const auto blocks = static_cast<unsigned>((rows + kRowsOfBlock - 1) / kRowsOfBlock);
  const dim3 threads(kWarp, kRowsOfBlock);
  if constexpr (sizeof(T) <= 4) {
    if (e.columns % kWidth == 0 && are_aligned(e.wte, e.wpe, e.out)) {
      embedding_kernel<kWidth><<<blocks, threads, 0, stream>>>(e, rows);
      return;
    }
  }
  embedding_kernel<1><<<blocks, threads, 0, stream>>>(e, rows);
}

}  // namespace

void load_embedding_kernels() {
  for_each_type([](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) <= 4) load(embedding_kernel<kWidth, T>);
    load(embedding_kernel<1, T>);
  });
}

void embedding_forward(cudaStream_t stream, const EmbeddingForwardArgs& args) {
  const std::int64_t columns = args.out.columns(), length = args.tokens.columns(), rows = args.tokens.size();
  assert(args.wte.columns() == columns && (!args.wpe || args.wpe.shape[0] >= length));
  if (rows == 0) return;
  with_type(args.out.dtype, [&](auto type) {
    using T = decltype(type);
    const EmbeddingRows<T> e{args.tokens.as<std::int32_t>(),
                             args.wte.as<T>(),
                             args.wpe ? args.wpe.as<T>() : nullptr,
                             args.out.as<T>(),
                             length,
                             columns,
                             args.vocab_begin,
                             args.wte.shape[0]};
    launch(stream, e, rows);
  });
  check_launch("embedding_forward");
}

}  // namespace tenax::kernels::cuda
