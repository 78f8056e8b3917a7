// Bytes moved through device memory, per element of fp32: 4.
#include "kernels/cuda/sum_of_squares.hpp"

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/row_launch.hpp"
#include "kernels/cuda/sum_of_squares_body.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr std::int64_t kSmallestSlice = 8192, kMostSlices = 8 * kMultiprocessors;

template <int kCount, class T>
__global__ void __launch_bounds__(256)
    square_sums_kernel(const T* x, std::int64_t count, std::int64_t slice, double* sums) {
  const std::int64_t begin = blockIdx.x * slice;
  const double sum =
      square_sum<kCount>(DeviceGroup{}, x, begin, begin + slice < count ? begin + slice : count);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kMaxRowThreads)
    plain_sum_kernel(const double* values, std::int64_t count, double* result) {
  const double sum = plain_sum(DeviceGroup{}, values, count);
  if (threadIdx.x == 0) *result = sum;
}

}  // namespace

void sum_of_squares(cudaStream_t stream, const SumOfSquaresArgs& args, Workspace& workspace) {
  const std::int64_t count = args.x.size();
  // Slices start at multiples of 8192 elements, so that they are aligned where x is.
  const std::int64_t slice =
      kSmallestSlice *
      std::max<std::int64_t>(1, (count + kSmallestSlice * kMostSlices - 1) / (kSmallestSlice * kMostSlices));
  const auto slices = static_cast<unsigned>((count + slice - 1) / slice);
  auto* const sums = static_cast<double*>(workspace.take(std::max(1u, slices) * sizeof(double)));
  void* result = nullptr;
  TENAX_CUDA_CHECK(cudaHostGetDevicePointer(&result, args.result, 0));
  if (slices > 0) {
    with_type(args.x.dtype, [&](auto type) {
      using T = decltype(type);
      constexpr int kCount = sizeof(T) <= 4 ? kWidth : 1;
      if (are_aligned(args.x.data))
        square_sums_kernel<kCount><<<slices, 256, 0, stream>>>(args.x.as<T>(), count, slice, sums);
      else
        square_sums_kernel<1><<<slices, 256, 0, stream>>>(args.x.as<T>(), count, slice, sums);
    });
    check_launch("square_sums");
  }
  plain_sum_kernel<<<1, kMaxRowThreads, 0, stream>>>(sums, slices, static_cast<double*>(result));
  check_launch("plain_sum");
}

}  // namespace tenax::kernels::cuda
