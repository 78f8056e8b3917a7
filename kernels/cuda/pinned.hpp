#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {

/// Where kernels find what `pinned` points at in pinned host memory.
template <class T>
T* on_device(T* pinned) {
  void* address = nullptr;
  TENAX_CUDA_CHECK(cudaHostGetDevicePointer(&address, const_cast<std::remove_const_t<T>*>(pinned), 0));
  return static_cast<T*>(address);
}

}  // namespace tenax::kernels::cuda
