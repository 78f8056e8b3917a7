// Bytes moved through device memory, per element of bf16: 4 (x in, y out); with the residual sum 8 (x and delta in, sum
// and y out). Gamma, beta and bias stay in the caches.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/layernorm_forward_body.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/row_launch.hpp"

namespace tenax::kernels::cuda {
namespace {

template <int kCount, bool residual, class T>
__global__ void __launch_bounds__(kMaxRowThreads)
    layernorm_forward_kernel(NormRows<T> op, std::int64_t rows) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row < rows) layernorm_forward_row<kCount, residual>(DeviceGroup{}, op, row);
}

template <int kCount, bool residual, class T>
void launch(cudaStream_t stream, const NormRows<T>& op, std::int64_t rows) {
  const RowLaunch shape = launch_rows(rows, op.columns / kCount, kNormSlots);
  layernorm_forward_kernel<kCount, residual><<<shape.grid, shape.block, 0, stream>>>(op, rows);
  check_launch("layernorm_forward");
}

template <bool residual, class T>
void launch(cudaStream_t stream, const NormRows<T>& op, std::int64_t rows) {
  if (rows == 0) return;
  if constexpr (sizeof(T) <= 4)
    if (op.columns % kWidth == 0 && are_aligned(op.x, op.delta, op.bias, op.sum, op.gamma, op.beta, op.y))
      return launch<kWidth, residual>(stream, op, rows);
  launch<1, residual>(stream, op, rows);
}

// What both forms of the operation have.
template <class T, class Args>
NormRows<T> norm_of(const Args& args) {
  using A = Accumulator<T>;
  NormRows<T> op{};
  op.x = args.x.template as<T>();
  op.gamma = args.gamma.template as<T>();
  op.beta = args.beta.template as<T>();
  op.y = args.y.template as<T>();
  op.mean = args.mean.template as<A>();
  op.rstd = args.rstd.template as<A>();
  op.epsilon = static_cast<A>(args.epsilon);
  op.columns = args.gamma.size();
  return op;
}

template <int kCount, class T>
void load_forms() {
  load(layernorm_forward_kernel<kCount, false, T>, layernorm_forward_kernel<kCount, true, T>);
}

}  // namespace

void load_layernorm_forward_kernels() {
  for_each_type([](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) <= 4) load_forms<kWidth, T>();
    load_forms<1, T>();
  });
}

void layernorm_forward(cudaStream_t stream, const LayerNormForwardArgs& args) {
  assert(args.x.columns() == args.gamma.size() && args.mean.size() == args.x.rows());
  with_type(args.x.dtype,
            [&](auto type) { launch<false>(stream, norm_of<decltype(type)>(args), args.x.rows()); });
}

void residual_layernorm_forward(cudaStream_t stream, const ResidualLayerNormForwardArgs& args) {
  assert(args.x.columns() == args.gamma.size() && args.mean.size() == args.x.rows());
  with_type(args.x.dtype, [&](auto type) {
    using T = decltype(type);
    NormRows<T> op = norm_of<T>(args);
    op.delta = args.delta.as<T>();
    op.bias = args.bias.as<T>();
    op.sum = args.sum.as<T>();
    launch<true>(stream, op, args.x.rows());
  });
}

}  // namespace tenax::kernels::cuda
