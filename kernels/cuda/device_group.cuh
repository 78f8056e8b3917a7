// Groups of threads on the GPU, as group.hpp describes them. Sums have a fixed order: a butterfly within each
// warp, whose partners add the same two numbers, then the warps' sums in the order of another butterfly.
#pragma once

#include <cstdint>

#include "kernels/cuda/group.hpp"
#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

inline constexpr int kWarp = 32;

struct Plus {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// NaN where either is.
struct Larger {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

template <class T>
__device__ __forceinline__ T from_partner(T value, int distance) {
  return __shfl_xor_sync(0xffffffffu, value, distance);
}
template <class A, int kCount>
__device__ __forceinline__ Pack<A, kCount> from_partner(Pack<A, kCount> values, int distance) {
  TENAX_UNROLL
  for (int i = 0; i < kCount; ++i) values.at[i] = from_partner(values.at[i], distance);
  return values;
}

template <class T, class Combine>
__device__ __forceinline__ T over_warp(T value, Combine combine) {
  TENAX_UNROLL
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = combine(value, from_partner(value, distance));
  return value;
}

/// The blockDim.x threads that share one threadIdx.y. blockDim.x is 32, and each group is a warp; or it is
/// a larger multiple of 32 and blockDim.y is 1: the group is the block. All threads of a group must make
/// the same calls.
class DeviceGroup {
 public:
  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int size() const { return static_cast<int>(blockDim.x); }
  template <class T>
  __device__ __forceinline__ T sum(T value) const {
    return combined(value, Plus{}, T{});
  }
  template <class T>
  __device__ __forceinline__ T max(T value) const {
    return combined(value, Larger{}, value);
  }
  __device__ __forceinline__ void sync() const {
    if (blockDim.x == kWarp)
      __syncwarp();
    else
      __syncthreads();
  }

 private:
  // Of warps that a block does not have, `neutral` takes the place.
  template <class T, class Combine>
  __device__ __forceinline__ T combined(T value, Combine combine, T neutral) const {
    value = over_warp(value, combine);
    if (blockDim.x == kWarp) return value;
    __shared__ T of_warp[kWarp];
    const unsigned lane = threadIdx.x % kWarp;
    __syncthreads();  // the sum before this one has been read
    if (lane == 0) of_warp[threadIdx.x / kWarp] = value;
    __syncthreads();
    return over_warp(lane < blockDim.x / kWarp ? of_warp[lane] : neutral, combine);
  }
};

/// The kRows = blockDim.y threads that share one threadIdx.x, of 32: each x stands for columns of its own.
template <int kRows>
class ColumnGroup {
 public:
  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.y); }
  __device__ __forceinline__ int size() const { return kRows; }
  /// In the order of ranks. All threads of the block must call it.
  template <class T>
  __device__ __forceinline__ T sum(T value) const {
    __shared__ T parts[kRows][kWarp];
    __syncthreads();
    parts[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    T total = parts[0][threadIdx.x];
    for (int y = 1; y < kRows; ++y) total = total + parts[y][threadIdx.x];
    return total;
  }
};

}  // namespace tenax::kernels::cuda
