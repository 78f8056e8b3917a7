// Bytes moved through device memory, per element of fp32: 4.
#include "kernels/cuda/operations.hpp"

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/row_launch.hpp"
#include "kernels/cuda/sum_of_squares_body.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kSquaresThreads = 256;
constexpr std::int64_t kSmallestSlice = 8192, kMostSlices = 8 * kMultiprocessors;

template <class T>
__global__ void __launch_bounds__(kSquaresThreads)
    square_sums_kernel(const __grid_constant__ SquareTable<T> table, std::int64_t slice, double* sums) {
  const double sum = square_sum_of_block(DeviceGroup{}, table, slice, blockIdx.x);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kMaxRowThreads)
    plain_sum_kernel(const double* values, std::int64_t count, double* result) {
  const double sum = plain_sum(DeviceGroup{}, values, count);
  if (threadIdx.x == 0) *result = sum;
}

std::int64_t up_to_whole(std::int64_t elements, std::int64_t block) { return (elements + block - 1) / block; }

/// One length for all, so that blocks have equal work; a multiple of 8192 elements, so that slices are aligned where their
/// piece is.
template <class T>
std::int64_t slice_of(const std::vector<SquarePiece<T>>& pieces) {
  std::int64_t count = 0;
  for (const SquarePiece<T>& piece : pieces) count += piece.count;
  return kSmallestSlice * std::max<std::int64_t>(1, up_to_whole(count, kSmallestSlice * kMostSlices));
}

/// Returns the slices' number.
template <class T>
std::int64_t launch(cudaStream_t stream, const std::vector<SquarePiece<T>>& pieces, std::int64_t slice,
                    double* sums) {
  std::int64_t slices = 0;
  for_tables<SquareTable<T>>(pieces, slice, [&](const SquareTable<T>& table, std::uint32_t blocks) {
    square_sums_kernel<T><<<blocks, kSquaresThreads, 0, stream>>>(table, slice, sums + slices);
    check_launch("square_sums");
    slices += blocks;
  });
  return slices;
}

}  // namespace

void load_square_sum_kernels() {
  load(plain_sum_kernel);
  for_each_type([](auto type) { load(square_sums_kernel<decltype(type)>); });
}

void sum_of_squares(cudaStream_t stream, const SumOfSquaresArgs& args, Workspace& workspace) {
  with_type(args.parts.empty() ? DType::f32 : args.parts.front().dtype, [&](auto type) {
    const auto pieces = square_pieces<decltype(type)>(args.parts);
    const std::int64_t slice = slice_of(pieces);
    std::int64_t room = 1;
    for (const auto& piece : pieces) room += up_to_whole(piece.count, slice);
    auto* const sums = static_cast<double*>(workspace.take(static_cast<std::size_t>(room) * sizeof(double)));
    const std::int64_t slices = launch(stream, pieces, slice, sums);
    plain_sum_kernel<<<1, kMaxRowThreads, 0, stream>>>(sums, slices, args.result);
    check_launch("plain_sum");
  });
}

}  // namespace tenax::kernels::cuda
