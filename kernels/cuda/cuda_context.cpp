#include "kernels/cuda/cuda_context.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

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

/// How long a lack of memory, or the end, waits for what streams may still use.
constexpr double kRestLimit_s = 5;

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

bool is_capturing_any(const std::set<cudaStream_t>& streams) {
  return std::any_of(streams.begin(), streams.end(), is_capturing);
}

/// Not to be asked of any stream while one is captured: that may void the capture. A device that is broken (every call
/// fails) has nothing to do; its next user will say so.
bool is_busy(cudaStream_t stream) { return cudaStreamQuery(stream) == cudaErrorNotReady; }

using Marks = std::vector<OwnedEvent>;

/// Marks behind what busy streams were given.
Marks marks_of_busy(const std::set<cudaStream_t>& streams) {
  Marks marks;
  for (const cudaStream_t stream : streams) {
    cudaEvent_t mark = nullptr;
    if (!is_busy(stream) || cudaEventCreateWithFlags(&mark, cudaEventDisableTiming) != cudaSuccess) continue;
    cudaEventRecord(marks.emplace_back(mark).get(), stream);
  }
  return marks;
}

bool are_passed(const Marks& marks) {
  return std::none_of(marks.begin(), marks.end(),
                      [](const OwnedEvent& mark) { return cudaEventQuery(mark.get()) == cudaErrorNotReady; });
}

}  // namespace

CudaContext::CudaContext(int index)
    : index_(make_current_first(index)), name_(name_if_usable(index)), driver_(find_driver_calls()) {}

// CUDA's runtime numbers devices as the driver does.
std::string CudaContext::uuid() const {
  CUuuid uuid{};
  if (driver_.uuid_of_device(&uuid, index_) != CUDA_SUCCESS)
    throw Error(Scope::rank, name_ + ": the driver does not tell its UUID");
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : uuid.bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

CudaContext::Memory CudaContext::memory_info() const {
  make_current();
  Memory memory;
  TENAX_CUDA_CHECK(cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes));
  return memory;
}

void CudaContext::make_current() const { TENAX_CUDA_CHECK(cudaSetDevice(index_)); }

bool CudaContext::succeeds(const std::function<cudaError_t()>& allocate, cudaError_t& status) {
  status = allocate();
  if (status == cudaSuccess || releases_.count() == 0) return status == cudaSuccess;
  cudaGetLastError();  // may be cured
  await_idle();
  reclaim();
  status = allocate();
  return status == cudaSuccess;
}

void* CudaContext::allocate(std::size_t bytes) {
  make_current();
  void* memory = nullptr;
  cudaError_t status = cudaSuccess;
  if (!succeeds([&] { return cudaMalloc(&memory, bytes); }, status))
    throw_no_memory(
        bytes, "on " + name_ + ", which has " + std::to_string(memory_info().free_bytes) + " free", status);
  return memory;
}

void* CudaContext::allocate_pinned(std::size_t bytes) {
  make_current();
  void* memory = nullptr;
  cudaError_t status = cudaSuccess;
  const auto allocate = [&] {
    return cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  };
  if (!succeeds(allocate, status)) throw_no_memory(bytes, "pinned on this host", status);
  return memory;
}

void CudaContext::release(void* memory) noexcept {
  defer([memory] { cudaFree(memory); });
}

void CudaContext::release_pinned(void* memory) noexcept {
  defer([memory] { cudaFreeHost(memory); });
}

bool CudaContext::pin(void* memory, std::size_t bytes) {
  make_current();
  cudaError_t status = cudaSuccess;
  const auto pin = [&] {
    return cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  };
  if (succeeds(pin, status)) return true;
  cudaGetLastError();  // the caller knows another way
  return false;
}

void CudaContext::unpin(std::shared_ptr<std::byte> memory) noexcept {
  defer([memory = std::move(memory)] { cudaHostUnregister(memory.get()); });
}

void CudaContext::add(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  streams_.insert(stream);
}

void CudaContext::remove(cudaStream_t stream) noexcept {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

// Nothing is thrown here.
void CudaContext::defer(std::function<void()> free) noexcept {
  if (cudaSetDevice(index_) != cudaSuccess) return;
  const auto marks = std::make_shared<std::optional<Marks>>(marks_now());
  if (*marks && (*marks)->empty()) return free();
  releases_.add([this, marks] { return is_through(*marks); }, std::move(free));
}

// Absent while a stream is captured.
std::optional<std::vector<OwnedEvent>> CudaContext::marks_now() {
  const std::lock_guard lock(mutex_);
  if (is_capturing_any(streams_)) return std::nullopt;
  return marks_of_busy(streams_);
}

// Of what was let go of in a capture the marks come later.
bool CudaContext::is_through(std::optional<std::vector<OwnedEvent>>& marks) {
  if (!marks) marks = marks_now();
  return marks && are_passed(*marks);
}

bool CudaContext::is_idle() {
  const std::lock_guard lock(mutex_);
  return !is_capturing_any(streams_) && std::none_of(streams_.begin(), streams_.end(), is_busy);
}

void CudaContext::await_idle() {
  const Deadline latest = Deadline::after_s(kRestLimit_s);
  for (Backoff backoff; !is_idle() && !latest.expired();) backoff.pause();
}

// To free waits for the whole device.
void CudaContext::reclaim() noexcept {
  if (cudaSetDevice(index_) == cudaSuccess && is_idle()) releases_.collect();
}

CudaContext::~CudaContext() {
  if (cudaSetDevice(index_) == cudaSuccess)
    static_cast<void>(releases_.collect_all(Deadline::after_s(kRestLimit_s)));
}

}  // namespace tenax::kernels::cuda
