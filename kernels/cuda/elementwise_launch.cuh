// Launching an operation of elementwise_body.hpp.
#pragma once

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/elementwise_body.hpp"
#include "kernels/cuda/kernel_loading.hpp"

namespace tenax::kernels::cuda {

template <int kCount, class Op>
__global__ void __launch_bounds__(256) elementwise_kernel(Op op, std::int64_t count) {
  const std::int64_t begin = blockIdx.x * kSlice;
  apply_to_slice<kCount>(DeviceGroup{}, op, begin, begin + kSlice < count ? begin + kSlice : count);
}

template <class Op>
void load_elementwise() {
  if constexpr (Op::kMayPack) load(elementwise_kernel<kWidth, Op>);
  load(elementwise_kernel<1, Op>);
}

/// `packed`: whether memory and shape allow eight elements at a time. `name`: for errors.
template <class Op>
void launch_elementwise(cudaStream_t stream, const Op& op, std::int64_t count, bool packed,
                        const char* name) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kSlice - 1) / kSlice);
  if constexpr (Op::kMayPack)
    if (packed) {
      elementwise_kernel<kWidth><<<blocks, 256, 0, stream>>>(op, count);
      return check_launch(name);
    }
  elementwise_kernel<1><<<blocks, 256, 0, stream>>>(op, count);
  check_launch(name);
}

}  // namespace tenax::kernels::cuda
