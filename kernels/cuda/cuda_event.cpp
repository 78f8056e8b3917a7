#include "kernels/cuda/cuda_event.hpp"

#include "kernels/cuda/capture.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cuda_wait.hpp"

namespace tenax::kernels::cuda {
CudaEvent::CudaEvent(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {
  context_->make_current();
  TENAX_CUDA_CHECK(cudaEventCreateWithFlags(&mark_, cudaEventDefault));  // the default keeps times
}

CudaEvent::~CudaEvent() {
  // A failure here has been, or will be, reported by a stream's own calls.
  if (joint_) cudaEventDestroy(joint_);
  cudaEventDestroy(mark_);
}

void CudaEvent::record_on(cudaStream_t stream) {
  const unsigned long long capture = capture_of(stream);
  if (capture == 0) {
    TENAX_CUDA_CHECK(cudaEventRecord(mark_, stream));
  } else {
    if (!joint_) TENAX_CUDA_CHECK(cudaEventCreateWithFlags(&joint_, cudaEventDisableTiming));
    TENAX_CUDA_CHECK(cudaEventRecordWithFlags(mark_, stream, cudaEventRecordExternal));
    TENAX_CUDA_CHECK(cudaEventRecord(joint_, stream));
  }
  capture_.store(capture, std::memory_order_release);
  recorded_.store(true, std::memory_order_release);
}

void CudaEvent::hold(cudaStream_t stream) const {
  const unsigned long long capture = capture_of(stream);
  if (capture == 0) {
    TENAX_CUDA_CHECK(cudaStreamWaitEvent(stream, mark_, cudaEventWaitDefault));
  } else if (capture == capture_.load(std::memory_order_acquire)) {
    TENAX_CUDA_CHECK(cudaStreamWaitEvent(stream, joint_, cudaEventWaitDefault));
  } else {  // recorded before the capture: what each launch will have to wait for
    TENAX_CUDA_CHECK(cudaStreamWaitEvent(stream, mark_, cudaEventWaitExternal));
  }
}

bool CudaEvent::done() const {
  context_->make_current();
  return passed(cudaEventQuery(mark_), "cudaEventQuery(mark)");
}

void CudaEvent::wait(Deadline deadline) const {
  wait_until([&] { return done(); }, deadline, *context_, "an event");
}

double CudaEvent::time_s() const {
  if (!recorded_.load(std::memory_order_acquire)) return 0;  // long ago
  context_->make_current();
  return context_->clock().time_s(mark_);
}

}  // namespace tenax::kernels::cuda
