#include "kernels/cuda/cuda_context.hpp"

#include <cmath>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

int make_current_first(int index) {
  TENAX_CUDA_CHECK(cudaSetDevice(index));
  return index;
}

/// This build's kernels are machine code for certain processors, which others cannot run.
std::string name_if_usable(int index) {
  cudaDeviceProp properties;
  TENAX_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  const std::string name = "cuda " + std::to_string(index) + " (" + properties.name + ", " +
                           std::to_string(std::lround(double(properties.totalGlobalMem) / kGiB)) + " GiB)";
  if (has_kernels_for_current_device()) return name;
  const std::string capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  throw Error(Scope::rank, name + " has compute capability " + capability +
                               ", this build has kernels for " TENAX_CUDA_ARCHITECTURES
                               " only: configure with -DCMAKE_CUDA_ARCHITECTURES=" +
                               std::to_string(properties.major) + std::to_string(properties.minor) +
                               ", or set device.kind = \"cpu\"");
}

[[noreturn]] void throw_no_memory(std::size_t bytes, const std::string& where, cudaError_t status) {
  cudaGetLastError();  // reported here
  throw Error(Scope::rank, "cannot allocate " + std::to_string(bytes) + " bytes of memory " + where + ": " +
                               cudaGetErrorString(status) +
                               "; use more ranks, a smaller batch or model, or device.recompute");
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

}  // namespace

CudaContext::CudaContext(int index)
    : index_(make_current_first(index)), name_(name_if_usable(index)), driver_(find_driver_calls()) {}

std::size_t CudaContext::free_bytes() const {
  make_current();
  std::size_t free = 0, total = 0;
  TENAX_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

void CudaContext::make_current() const { TENAX_CUDA_CHECK(cudaSetDevice(index_)); }

void* CudaContext::allocate(std::size_t bytes) const {
  make_current();
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status != cudaSuccess)
    throw_no_memory(bytes, "on " + name_ + ", which has " + std::to_string(free_bytes()) + " free", status);
  return memory;
}

void* CudaContext::allocate_pinned(std::size_t bytes) const {
  make_current();
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  if (status != cudaSuccess) throw_no_memory(bytes, "pinned on this host", status);
  return memory;
}

void CudaContext::release(void* memory) noexcept {
  if (streams_are_through()) cudaFree(memory);
}

void CudaContext::release_pinned(void* memory) noexcept {
  if (streams_are_through()) cudaFreeHost(memory);
}

bool CudaContext::pin(void* memory, std::size_t bytes) const {
  make_current();
  if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped) == cudaSuccess)
    return true;
  cudaGetLastError();  // the caller knows another way
  return false;
}

bool CudaContext::unpin(void* memory) noexcept {
  return streams_are_through() && cudaHostUnregister(memory) == cudaSuccess;
}

void CudaContext::add(cudaStream_t stream) {
  OwnedEvent mark = create_event(cudaEventDisableTiming);
  const std::lock_guard lock(mutex_);
  mark_of_stream_[stream] = std::move(mark);
}

void CudaContext::remove(cudaStream_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  mark_of_stream_.erase(stream);
}

// Nothing is thrown here: a device that is broken (every call fails) counts as through, and its next user
// will say so.
bool CudaContext::streams_are_through() noexcept {
  if (given_up_ || cudaSetDevice(index_) != cudaSuccess) return false;
  const Deadline deadline = Deadline::after_s(kRestLimit_s);
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, mark] : mark_of_stream_) {
    if (is_capturing(stream)) continue;  // runs nothing, and may not be asked
    cudaEventRecord(mark.get(), stream);
  }
  for (const auto& [stream, mark] : mark_of_stream_) {
    Backoff backoff;
    while (cudaEventQuery(mark.get()) == cudaErrorNotReady) {
      if (deadline.expired()) given_up_ = true;
      if (given_up_) return false;
      backoff.pause();
    }
  }
  return true;
}

}  // namespace tenax::kernels::cuda
