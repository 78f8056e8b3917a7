#include "kernels/cuda/adamw.hpp"

#include <cassert>

#include "kernels/cuda/adamw_body.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"

namespace tenax::kernels::cuda {
namespace {

constexpr int kThreads = static_cast<int>(kAdamWBlock) / kAdamWWidth;

template <int kCount, class T, class A>
__global__ void __launch_bounds__(kThreads) adamw_kernel(const AdamWUpdate<T, A> update) {
  adamw_block<kCount>(DeviceGroup{}, update, blockIdx.x);
}

template <class T, class A = Accumulator<T>>
void launch(cudaStream_t stream, const AdamWArgs& args, const AdamWRounding& rounding) {
  const AdamWUpdate<T> update{args.master.as<A>(),
                              args.gradient.as<A>(),
                              args.exp_avg.as<A>(),
                              args.exp_avg_sq.as<A>(),
                              args.compute ? args.compute.as<T>() : nullptr,
                              args.master.size(),
                              AdamWCoefficients<A>(args),
                              rounding.stochastic,
                              rounding.seed,
                              args.step,
                              args.first_element};
  if (update.count == 0) return;
  const auto blocks = static_cast<unsigned>((update.count + kAdamWBlock - 1) / kAdamWBlock);
  if constexpr (sizeof(T) <= 4) {
    if (args.first_element % kAdamWWidth == 0 &&
        are_aligned(update.master, update.gradient, update.exp_avg, update.exp_avg_sq, update.compute)) {
      adamw_kernel<kAdamWWidth><<<blocks, kThreads, 0, stream>>>(update);
      return check_launch("adamw");
    }
  }
  adamw_kernel<1><<<blocks, kThreads, 0, stream>>>(update);
  check_launch("adamw");
}

}  // namespace

void adamw(cudaStream_t stream, const AdamWArgs& args, const AdamWRounding& rounding) {
  assert(args.gradient.size() == args.master.size() && args.step >= 1);
  with_type(args.compute ? args.compute.dtype : args.master.dtype,
            [&](auto type) { launch<decltype(type)>(stream, args, rounding); });
}

}  // namespace tenax::kernels::cuda
