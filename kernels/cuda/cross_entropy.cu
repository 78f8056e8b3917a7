#include "kernels/cuda/operations.hpp"

#include <cassert>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cross_entropy_body.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"

namespace tenax::kernels::cuda {
namespace {

/// Of a block, which has one row: two such blocks fill a multiprocessor's registers.
constexpr int kRowThreads = 512;
/// fp64 is for tests, and read one by one.
template <class T>
inline constexpr int kWidthOf = sizeof(T) <= 4 ? kWidth : 1;
/// Of a block of the operations that take a number per row.
constexpr int kElementThreads = 256;

template <int kCount, class Rows>
__global__ void __launch_bounds__(kRowThreads, 2) forward_kernel(const Rows rows) {
  cross_entropy_forward_row<kCount>(DeviceGroup{}, rows, blockIdx.x);
}

template <int kCount, class Rows>
__global__ void __launch_bounds__(kRowThreads, 2) backward_kernel(const Rows rows) {
  cross_entropy_backward_row<kCount>(DeviceGroup{}, rows, blockIdx.x);
}

template <class A>
__global__ void rescale_kernel(const A* local_max, const A* global_max, A* row_sum, std::int64_t rows) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kElementThreads + threadIdx.x;
  if (row < rows) row_sum[row] *= std::exp(local_max[row] - global_max[row]);
}

// log_sum_exp may be row_sum's memory.
template <class A>
__global__ void loss_kernel(const A* row_max, const A* row_sum, const A* target_logit, A* log_sum_exp,
                            A* losses, std::int64_t rows) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kElementThreads + threadIdx.x;
  if (row >= rows) return;
  const A value = row_max[row] + std::log(row_sum[row]);
  losses[row] = value - target_logit[row];
  log_sum_exp[row] = value;
}

unsigned element_blocks(std::int64_t rows) {
  return static_cast<unsigned>((rows + kElementThreads - 1) / kElementThreads);
}

bool in_packs(const Tensor& logits, const void* other) {
  return logits.columns() % kWidth == 0 && are_aligned(logits.data, other);
}

}  // namespace

void load_cross_entropy_kernels() {
  load(rescale_kernel<float>, rescale_kernel<double>, loss_kernel<float>, loss_kernel<double>);
  for_each_type([](auto type) {
    using T = decltype(type);
    load(forward_kernel<1, CrossEntropyForwardRows<T>>, backward_kernel<1, CrossEntropyBackwardRows<T>>);
    load(forward_kernel<kWidthOf<T>, CrossEntropyForwardRows<T>>,
         backward_kernel<kWidthOf<T>, CrossEntropyBackwardRows<T>>);
  });
}

void cross_entropy_forward(cudaStream_t stream, const CrossEntropyForwardArgs& args) {
  const std::int64_t columns = args.logits.columns();
  assert(args.valid_columns >= 0 && args.valid_columns <= columns);
  assert(args.targets.size() == args.logits.rows());
  const auto blocks = static_cast<unsigned>(args.logits.rows());
  if (blocks == 0) return;
  with_type(args.logits.dtype, [&](auto type) {
    using T = decltype(type);
    using A = Accumulator<T>;
    const CrossEntropyForwardRows<T> rows{args.logits.as<T>(),       args.targets.as<std::int32_t>(),
                                          args.row_max.as<A>(),      args.row_sum.as<A>(),
                                          args.target_logit.as<A>(), columns,
                                          args.valid_columns,        args.vocab_begin};
    if (in_packs(args.logits, nullptr))
      forward_kernel<kWidthOf<T>><<<blocks, kRowThreads, 0, stream>>>(rows);
    else
      forward_kernel<1><<<blocks, kRowThreads, 0, stream>>>(rows);
  });
  check_launch("cross_entropy_forward");
}

void cross_entropy_rescale(cudaStream_t stream, const CrossEntropyRescaleArgs& args) {
  const std::int64_t rows = args.row_sum.size();
  if (rows == 0) return;
  with_type(args.row_sum.dtype, [&](auto type) {
    using A = Accumulator<decltype(type)>;
    rescale_kernel<<<element_blocks(rows), kElementThreads, 0, stream>>>(
        args.local_max.as<A>(), args.global_max.as<A>(), args.row_sum.as<A>(), rows);
  });
  check_launch("cross_entropy_rescale");
}

void cross_entropy_loss(cudaStream_t stream, const CrossEntropyLossArgs& args) {
  const std::int64_t rows = args.row_sum.size();
  if (rows == 0) return;
  with_type(args.row_sum.dtype, [&](auto type) {
    using A = Accumulator<decltype(type)>;
    loss_kernel<<<element_blocks(rows), kElementThreads, 0, stream>>>(
        args.row_max.as<A>(), args.row_sum.as<A>(), args.target_logit.as<A>(), args.log_sum_exp.as<A>(),
        args.losses.as<A>(), rows);
  });
  check_launch("cross_entropy_loss");
}

void cross_entropy_backward(cudaStream_t stream, const CrossEntropyBackwardArgs& args) {
  const std::int64_t columns = args.logits.columns();
  assert(args.valid_columns >= 0 && args.valid_columns <= columns);
  assert(args.targets.size() == args.logits.rows());
  const auto blocks = static_cast<unsigned>(args.logits.rows());
  if (blocks == 0) return;
  with_type(args.logits.dtype, [&](auto type) {
    using T = decltype(type);
    using A = Accumulator<T>;
    const CrossEntropyBackwardRows<T> rows{args.logits.as<T>(),
                                           args.targets.as<std::int32_t>(),
                                           args.log_sum_exp.as<A>(),
                                           args.d_logits.as<T>(),
                                           columns,
                                           args.valid_columns,
                                           args.vocab_begin,
                                           static_cast<A>(args.scale)};
    if (in_packs(args.logits, args.d_logits.data))
      backward_kernel<kWidthOf<T>><<<blocks, kRowThreads, 0, stream>>>(rows);
    else
      backward_kernel<1><<<blocks, kRowThreads, 0, stream>>>(rows);
  });
  check_launch("cross_entropy_backward");
}

}  // namespace tenax::kernels::cuda
