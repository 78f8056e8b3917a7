// The part of CUDA's runtime that products use, on the host: what is enqueued has run when the call returns.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/workspace.hpp"
#include "kernels/error.hpp"
#include "tests/kernels/column_major.hpp"
#include "tests/kernels/fake_cublaslt.hpp"

using tenax::kernels::cuda::test::FakeLibrary;

struct CUevent_st {
  double seconds = 0;
};

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->seconds = FakeLibrary::instance().clock_s;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = static_cast<float>(1e3 * (end->seconds - begin->seconds));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(std::malloc(1));
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::free(reinterpret_cast<void*>(stream));
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t) {
  FakeLibrary::instance().asked_bytes.push_back(bytes);
  if (!FakeLibrary::instance().has_pool) return cudaErrorNotSupported;
  if (!FakeLibrary::instance().has_memory) return cudaErrorMemoryAllocation;
  *memory = std::aligned_alloc(256, bytes);
  FakeLibrary::instance().pool_bytes += static_cast<std::int64_t>(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return FakeLibrary::instance().has_pool ? cudaSuccess : cudaErrorNotSupported;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  FakeLibrary::instance().pool_bytes = 0;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

namespace tenax::kernels::cuda {

void throw_cuda(cudaError_t status, const char* call) {
  throw Error(Scope::rank, std::string(call) + ": " + std::to_string(status));
}
void check_cublas(int status, const char* call) {
  if (status != 0) throw Error(Scope::rank, std::string(call) + ": " + std::to_string(status));
}

Workspace::Workspace(std::shared_ptr<CudaContext>, cudaStream_t) {}
Workspace::~Workspace() { std::free(memory_); }
void* Workspace::take(std::size_t bytes) {
  if (bytes <= bytes_) return memory_;
  std::free(memory_);
  memory_ = std::malloc(bytes);
  bytes_ = bytes;
  return memory_;
}

void add(cudaStream_t, Tensor source, Tensor destination) {
  for (std::int64_t i = 0; i < source.size(); ++i) destination.as<float>()[i] += source.as<float>()[i];
}

void set_rows_to_bias(cudaStream_t, const Tensor& bias, const Tensor& c, bool accumulate) {
  test::set_rows_on_host(bias, c, accumulate);
}

void fill_with_trial_values(cudaStream_t, void* data, DType dtype, std::int64_t count, std::uint64_t seed) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(data)[i] = trial_value<T>(seed, i);
  });
}

void check_cudnn(int status, const char* call) { check_cublas(status, call); }
bool passed(cudaError_t status, const char*) { return status == cudaSuccess; }
void wait_until(const std::function<bool()>& is_passed, Deadline, const std::string&, const char* what) {
  if (!is_passed()) throw Error(Scope::rank, what);
}

unsigned long long capture_of(cudaStream_t) { return FakeLibrary::instance().captures ? 1 : 0; }

void add_checksum(cudaStream_t, const void* data, std::int64_t words, std::uint64_t* sum) {
  for (std::int64_t i = 0; i < words; ++i) *sum += checksum_of(static_cast<const std::uint64_t*>(data)[i], i);
}

}  // namespace tenax::kernels::cuda
