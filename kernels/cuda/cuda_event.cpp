#include "kernels/cuda/cuda_event.hpp"

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"

namespace tenax::kernels::cuda {
CudaEvent::CudaEvent(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {
  context_->make_current();
  mark_ = create_event(cudaEventDefault);
}

void CudaEvent::record_on(cudaStream_t stream) {
  const unsigned long long capture = capture_of(stream);
  if (capture == 0) {
    TENAX_CUDA_CHECK(cudaEventRecord(mark_.get(), stream));
  } else {
    if (!joint_) joint_ = create_event(cudaEventDisableTiming);
    TENAX_CUDA_CHECK(cudaEventRecordWithFlags(mark_.get(), stream, cudaEventRecordExternal));
    TENAX_CUDA_CHECK(cudaEventRecord(joint_.get(), stream));
  }
  capture_.store(capture, std::memory_order_release);
  recorded_.store(true, std::memory_order_release);
}

void CudaEvent::hold(cudaStream_t stream) const {
  const unsigned long long capture = capture_of(stream);
  if (capture == 0) {
    TENAX_CUDA_CHECK(cudaStreamWaitEvent(stream, mark_.get(), cudaEventWaitDefault));
  } else if (capture == capture_.load(std::memory_order_acquire)) {
    TENAX_CUDA_CHECK(cudaStreamWaitEvent(stream, joint_.get(), cudaEventWaitDefault));
  } else {  // recorded before the capture: what each launch will have to wait for
    TENAX_CUDA_CHECK(cudaStreamWaitEvent(stream, mark_.get(), cudaEventWaitExternal));
  }
}

bool CudaEvent::done() const {
  context_->make_current();
  return passed(cudaEventQuery(mark_.get()), "cudaEventQuery(mark)");
}

void CudaEvent::wait(Deadline deadline) const {
  wait_until([&] { return done(); }, deadline, context_->name(), "an event");
}

double CudaEvent::time_s() const {
  if (!recorded_.load(std::memory_order_acquire)) return 0;  // long ago
  context_->make_current();
  return context_->clock().time_s(mark_.get());
}

}  // namespace tenax::kernels::cuda
