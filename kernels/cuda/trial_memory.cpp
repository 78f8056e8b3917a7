#include "kernels/cuda/trial_memory.hpp"

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {
namespace {

/// No later check may find what is no failure.
bool has_pool_memory(cudaError_t status, const char* call) {
  if (status != cudaErrorMemoryAllocation && status != cudaErrorNotSupported) check_cuda(status, call);
  if (status != cudaSuccess) cudaGetLastError();
  return status == cudaSuccess;
}

}  // namespace

TrialMemory::TrialMemory(cudaStream_t stream, std::size_t bytes) : stream_(stream) {
  if (!has_pool_memory(cudaMallocAsync(&data_, bytes, stream), "cudaMallocAsync")) data_ = nullptr;
}

TrialMemory::~TrialMemory() {
  if (data_) cudaFreeAsync(data_, stream_);
}

void trim_trial_memory() {
  int device = 0;
  TENAX_CUDA_CHECK(cudaGetDevice(&device));
  cudaMemPool_t pool = nullptr;
  if (!has_pool_memory(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool")) return;
  TENAX_CUDA_CHECK(cudaMemPoolTrimTo(pool, 0));
}

}  // namespace tenax::kernels::cuda
