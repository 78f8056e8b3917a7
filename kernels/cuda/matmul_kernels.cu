#include "kernels/cuda/operations.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device_group.cuh"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/matmul_body.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kMatmulThreads = 256;
constexpr std::int64_t kMostBlocks = 2048;

unsigned blocks_for(std::int64_t units) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(units, 1, kMostBlocks));
}
unsigned blocks_for_elements(std::int64_t count) {
  return blocks_for((count + kMatmulThreads - 1) / kMatmulThreads);
}

__device__ std::int64_t first_element() {
  return std::int64_t{blockIdx.x} * kMatmulThreads + static_cast<std::int64_t>(threadIdx.x);
}
__device__ std::int64_t elements_apart() { return std::int64_t{gridDim.x} * kMatmulThreads; }

template <class T, class Bias>
__global__ void bias_rows(const Bias* bias, T* c, std::int64_t rows, std::int64_t columns, bool accumulate) {
  for (std::int64_t i = blockIdx.x; i < rows; i += gridDim.x)
    bias_row(DeviceGroup{}, bias, c + i * columns, columns, accumulate);
}

template <class T>
__global__ void trial_values(T* data, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = first_element(); i < count; i += elements_apart()) data[i] = trial_value<T>(seed, i);
}

// Integers: the order of the additions does not matter.
__global__ void checksum(const std::uint64_t* data, std::int64_t words, unsigned long long* sum) {
  std::uint64_t mine = 0;
  for (std::int64_t i = first_element(); i < words; i += elements_apart()) mine += checksum_of(data[i], i);
  atomicAdd(sum, static_cast<unsigned long long>(mine));
}

}  // namespace

void load_matmul_kernels() {
  load(checksum, bias_rows<float, bf16_t>);
  for_each_type([](auto type) {
    using T = decltype(type);
    load(bias_rows<T, T>, trial_values<T>);
  });
}

void set_rows_to_bias(cudaStream_t stream, const Tensor& bias, const Tensor& c, bool accumulate) {
  assert(bias.size() == c.columns() && (bias.dtype == c.dtype || bias.dtype == DType::bf16));
  if (c.size() == 0) return;
  const auto launch = [&](auto c_type, auto bias_type) {
    bias_rows<<<blocks_for(c.rows()), kMatmulThreads, 0, stream>>>(
        bias.as<const decltype(bias_type)>(), c.as<decltype(c_type)>(), c.rows(), c.columns(), accumulate);
  };
  if (bias.dtype != c.dtype)
    launch(float{}, bf16_t{});  // the only other pair that a product has
  else
    with_type(c.dtype, [&](auto type) { launch(type, type); });
  check_launch("bias_rows");
}

void fill_with_trial_values(cudaStream_t stream, void* data, DType dtype, std::int64_t count,
                            std::uint64_t seed) {
  with_type(dtype, [&](auto type) {
    trial_values<<<blocks_for_elements(count), kMatmulThreads, 0, stream>>>(
        static_cast<decltype(type)*>(data), count, seed);
  });
  check_launch("trial_values");
}

void add_checksum(cudaStream_t stream, const void* data, std::int64_t words, std::uint64_t* sum) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  checksum<<<blocks_for_elements(words), kMatmulThreads, 0, stream>>>(
      static_cast<const std::uint64_t*>(data), words, reinterpret_cast<unsigned long long*>(sum));
  check_launch("checksum");
}

}  // namespace tenax::kernels::cuda
