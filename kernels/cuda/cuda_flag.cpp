#include "kernels/cuda/cuda_flag.hpp"

#include <atomic>

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {

CudaFlag::CudaFlag(std::shared_ptr<CudaContext> context)
    : context_(std::move(context)),
      word_(static_cast<std::uint32_t*>(context_->allocate_pinned(sizeof(std::uint32_t)))) {
  set(0);
}

CudaFlag::~CudaFlag() { context_->release_pinned(word_); }

std::uint32_t CudaFlag::value() const {
  return std::atomic_ref<std::uint32_t>(*word_).load(std::memory_order_acquire);
}

void CudaFlag::set(std::uint32_t value) {
  std::atomic_ref<std::uint32_t>(*word_).store(value, std::memory_order_release);
}

void CudaFlag::set_by(cudaStream_t stream, std::uint32_t value) const {
  TENAX_DRIVER_CHECK(context_->driver().write_value(stream, address(), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

void CudaFlag::hold(cudaStream_t stream, std::uint32_t value) const {
  TENAX_DRIVER_CHECK(context_->driver().wait_value(stream, address(), value, CU_STREAM_WAIT_VALUE_GEQ));
}

}  // namespace tenax::kernels::cuda
