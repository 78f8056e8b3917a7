#include "kernels/cuda/cuda_memory.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"

namespace tenax::kernels::cuda {
namespace {

/// Even an empty buffer has an address of its own.
constexpr std::size_t kLeast_bytes = 256;
constexpr double kZeroLimit_s = 60;

class DeviceBuffer final : public Buffer {
 public:
  DeviceBuffer(std::shared_ptr<CudaContext> context, std::size_t bytes)
      : context_(std::move(context)),
        bytes_(bytes),
        data_(context_->allocate(std::max(bytes, kLeast_bytes))) {}
  ~DeviceBuffer() override { context_->release(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* data() const override { return data_; }
  std::size_t bytes() const override { return bytes_; }

  /// On the calling thread's own stream: those of the device know nothing of this memory yet.
  void zero() {
    TENAX_CUDA_CHECK(cudaMemsetAsync(data_, 0, bytes_, cudaStreamPerThread));
    wait_until([] { return passed(cudaStreamQuery(cudaStreamPerThread), "cudaStreamQuery(per thread)"); },
               Deadline::after_s(kZeroLimit_s), context_->name(), "new memory to be zeroed");
  }

 private:
  std::shared_ptr<CudaContext> context_;
  std::size_t bytes_;
  void* data_;
};

class PinnedBuffer final : public Buffer {
 public:
  PinnedBuffer(std::shared_ptr<CudaContext> context, std::size_t bytes)
      : context_(std::move(context)),
        bytes_(bytes),
        data_(context_->allocate_pinned(std::max(bytes, kLeast_bytes))) {
    std::memset(data_, 0, bytes_);
  }
  ~PinnedBuffer() override { context_->release_pinned(data_); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  void* data() const override { return data_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<CudaContext> context_;
  std::size_t bytes_;
  void* data_;
};

class PinnedPages final : public HostRegistration {
 public:
  PinnedPages(std::shared_ptr<CudaContext> context, std::shared_ptr<std::byte> memory)
      : context_(std::move(context)), memory_(std::move(memory)) {}
  ~PinnedPages() override { context_->unpin(std::move(memory_)); }
  PinnedPages(const PinnedPages&) = delete;
  PinnedPages& operator=(const PinnedPages&) = delete;

 private:
  std::shared_ptr<CudaContext> context_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace

/// The driver takes whole pages alone: of a buffer that begins, or ends, within one it exports nothing.
int export_memory(const CudaContext& context, const Buffer& buffer) {
  context.make_current();
  const auto call = context.driver().handle_of_range;
  int descriptor = -1;
  const bool is_exported =
      call && call(&descriptor, reinterpret_cast<CUdeviceptr>(buffer.data()), buffer.bytes(),
                   CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) == CUDA_SUCCESS;
  return is_exported ? descriptor : -1;
}

std::unique_ptr<HostRegistration> register_memory(std::shared_ptr<CudaContext> context,
                                                  std::shared_ptr<std::byte> memory, std::size_t bytes) {
  if (!context->pin(memory.get(), bytes)) return nullptr;
  return std::make_unique<PinnedPages>(std::move(context), std::move(memory));
}

std::unique_ptr<Buffer> allocate_memory(std::shared_ptr<CudaContext> context, std::size_t bytes,
                                        MemoryKind kind) {
  if (kind == MemoryKind::pinned_host) return std::make_unique<PinnedBuffer>(std::move(context), bytes);
  auto buffer = std::make_unique<DeviceBuffer>(std::move(context), bytes);
  buffer->zero();
  return buffer;
}

}  // namespace tenax::kernels::cuda
