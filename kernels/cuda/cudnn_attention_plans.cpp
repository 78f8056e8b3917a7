#include "kernels/cuda/cudnn_attention_plans.hpp"

#include "kernels/cuda/driver_calls.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

void check_capture(cudaStream_t stream, bool has_plan) {
  if (!has_plan && is_captured(stream))
    throw Error(
        Scope::rank,
        "attention that is being captured has no plan yet: run it once with these shapes before the capture");
}

}  // namespace

cudnnHandle_t CudnnAttentionPlans::handle_on(cudaStream_t stream) {
  if (!handle_) handle_.emplace();
  TENAX_CUDNN_CHECK(cudnnSetStream(handle_->get(), stream));
  return handle_->get();
}

const CudnnPlanned<CudnnForwardGraph>& CudnnAttentionPlans::forward(cudaStream_t stream,
                                                                    const AttentionShape& shape) {
  check_capture(stream, forward_of_shape_.contains(shape));
  return forward_of_shape_.try_emplace(shape, handle_->get(), deterministic_, shape).first->second;
}

const CudnnPlanned<CudnnBackwardGraph>& CudnnAttentionPlans::backward(cudaStream_t stream,
                                                                      const AttentionShape& shape) {
  check_capture(stream, backward_of_shape_.contains(shape));
  return backward_of_shape_.try_emplace(shape, handle_->get(), deterministic_, shape, deterministic_)
      .first->second;
}

}  // namespace tenax::kernels::cuda
