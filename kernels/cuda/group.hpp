// How the own CUDA kernels are written: a kernel is a thin __global__ shell round a body, and a body is a
// template over the group of threads that computes one row or block together. On the GPU the group is a warp
// or a block (device_group.cuh); in tests it is one host thread, so that every body's arithmetic and indexing
// is checked against the CPU back end on machines without a GPU, by the host's compiler.
//
// A group has: rank() and size(); sum(x), max(x): over its threads, in a fixed order, the result on all of
// them; sync(). A body strides over its row by rank() and size(), 16 bytes at a time where the row allows.
#pragma once

#ifdef __CUDACC__
#define TENAX_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TENAX_HOST_DEVICE inline
#endif

// Before a loop whose arrays have to stay in registers. Nothing where the host's compiler reads it.
#ifdef __CUDA_ARCH__
#define TENAX_UNROLL _Pragma("unroll")
#else
#define TENAX_UNROLL
#endif

namespace tenax::kernels {

/// One thread: how tests run a body on the host.
struct SingleThread {
  TENAX_HOST_DEVICE int rank() const { return 0; }
  TENAX_HOST_DEVICE int size() const { return 1; }
  template <class T>
  TENAX_HOST_DEVICE T sum(T value) const {
    return value;
  }
  template <class T>
  TENAX_HOST_DEVICE T max(T value) const {
    return value;
  }
  TENAX_HOST_DEVICE void sync() const {}
};

}  // namespace tenax::kernels
