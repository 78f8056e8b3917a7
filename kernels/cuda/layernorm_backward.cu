// Bytes moved through device memory, per element of bf16: 6 (x and d_y in, d_x out), 8 with d_residual. Each block walks
// over many rows and keeps its columns' sums for d_gamma and d_beta in registers; they stay in the second-level cache
// until the second stage adds them.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/layernorm_backward_body.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/row_launch.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr std::int64_t kMinimumRows = 4;  ///< of a block: fewer, and its sums cost more than its rows

/// Packs of a row that a thread holds, each with 16 registers of sums. Up to 4096 columns it holds one, and one of the next
/// row, which is then read while this row's sums are formed.
constexpr int kFewSlots = 1;
template <class T>
constexpr int kManySlots = sizeof(T) == 2 ? 3 : 2;

template <class T, int kSlots>
constexpr int kRegisters = kSlots > kFewSlots ? 128
                           : sizeof(T) == 2   ? 80
                                              : 104;

template <int kSlots, class T>
__global__ void __maxnreg__((kRegisters<T, kSlots>))
    layernorm_backward_kernel(NormGradientRows<T> op, Accumulator<T>* partials) {
  layernorm_backward_held<kWidth, kSlots, kSlots == kFewSlots>(DeviceGroup{}, op, blockIdx.x, gridDim.x,
                                                               partials + blockIdx.x * 2 * op.columns);
}

template <class T>
__global__ void __launch_bounds__(kMaxRowThreads)
    layernorm_backward_any_kernel(NormGradientRows<T> op, Accumulator<T>* partials) {
  layernorm_backward_any(DeviceGroup{}, op, blockIdx.x, gridDim.x, partials + blockIdx.x * 2 * op.columns);
}

struct Launch {
  unsigned blocks, threads;
};

// A block works on one row at a time, and there are as many as multiprocessors hold together.
Launch launch_for(std::int64_t rows, std::int64_t packs, int slots, int registers) {
  constexpr std::int64_t kRegistersOfMultiprocessor = 65536;
  const unsigned threads = launch_rows(rows, packs, slots).block.x;
  const std::int64_t resident = std::max<std::int64_t>(1, kRegistersOfMultiprocessor / (registers * threads));
  return {
      static_cast<unsigned>(std::clamp<std::int64_t>(rows / kMinimumRows, 1, kMultiprocessors * resident)),
      threads};
}

template <class T, class Kernel>
void run(cudaStream_t stream, const NormGradientRows<T>& op, Launch launch, Kernel kernel,
         const LayerNormBackwardArgs& args, Workspace& workspace) {
  using A = Accumulator<T>;
  const std::size_t sums = std::size_t{2} * launch.blocks * static_cast<std::size_t>(op.columns);
  auto* const partials = static_cast<A*>(workspace.take(sums * sizeof(A)));
  kernel<<<launch.blocks, launch.threads, 0, stream>>>(op, partials);
  check_launch("layernorm_backward");
  sum_chunks(stream, ChunkSums<A>{partials, launch.blocks, op.columns, args.d_gamma.as<A>(),
                                  args.d_beta.as<A>(), false});
}

template <int kSlots, class T>
void run_held(cudaStream_t stream, const NormGradientRows<T>& op, const LayerNormBackwardArgs& args,
              Workspace& workspace) {
  run(stream, op, launch_for(op.rows, op.columns / kWidth, kSlots, kRegisters<T, kSlots>),
      layernorm_backward_kernel<kSlots, T>, args, workspace);
}

template <class T>
void backward(cudaStream_t stream, const NormGradientRows<T>& op, const LayerNormBackwardArgs& args,
              Workspace& workspace) {
  if constexpr (sizeof(T) <= 4) {
    const bool vectors =
        op.columns % kWidth == 0 && are_aligned(op.x, op.gamma, op.d_y, op.d_residual, op.d_x);
    if (vectors && op.columns <= kWidth * kFewSlots * kMaxRowThreads)
      return run_held<kFewSlots>(stream, op, args, workspace);
    if (vectors && op.columns <= kWidth * kManySlots<T> * kMaxRowThreads)
      return run_held<kManySlots<T>>(stream, op, args, workspace);
  }
  run(stream, op, launch_for(op.rows, op.columns, 1, 32), layernorm_backward_any_kernel<T>, args, workspace);
}

template <class T>
NormGradientRows<T> rows_of(const LayerNormBackwardArgs& args) {
  using A = Accumulator<T>;
  return {args.x.as<T>(),    args.gamma.as<T>(),
          args.d_y.as<T>(),  args.d_residual ? args.d_residual.as<T>() : nullptr,
          args.mean.as<A>(), args.rstd.as<A>(),
          args.d_x.as<T>(),  args.x.rows(),
          args.gamma.size()};
}

}  // namespace

void load_layernorm_backward_kernels() {
  for_each_type([](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) <= 4)
      load(layernorm_backward_kernel<kFewSlots, T>, layernorm_backward_kernel<kManySlots<T>, T>);
    load(layernorm_backward_any_kernel<T>);
  });
}

void layernorm_backward(cudaStream_t stream, const LayerNormBackwardArgs& args, Workspace& workspace) {
  assert(args.x.columns() == args.gamma.size() && args.mean.size() == args.x.rows());
  with_type(args.x.dtype,
            [&](auto type) { backward(stream, rows_of<decltype(type)>(args), args, workspace); });
}

}  // namespace tenax::kernels::cuda
