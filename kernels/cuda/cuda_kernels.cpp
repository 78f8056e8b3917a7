#include "kernels/cuda/cuda_kernels.hpp"

#include <cassert>

#include "kernels/cuda/cross_entropy.hpp"
#include "kernels/cuda/cuda_stream.hpp"
#include "kernels/cuda/embedding.hpp"
#include "kernels/cuda/layernorm.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

CudaStream& ours(Stream& stream) {
  assert(dynamic_cast<CudaStream*>(&stream) && "an operation runs on a stream of its own device");
  return static_cast<CudaStream&>(stream);
}

cudaStream_t current(Stream& stream) { return ours(stream).current(); }
Workspace& workspace_of(Stream& stream) { return ours(stream).workspace(); }

[[noreturn]] void not_yet() { throw Error(Scope::rank, "this operation has no CUDA kernel yet"); }

}  // namespace

CudaKernels::CudaKernels(const CudaOptions& options)
    : matmul_(options.deterministic), rounding_{options.stochastic_rounding, options.seed} {}

void CudaKernels::matmul(Stream& stream, const MatmulArgs& args) {
  matmul_.matmul(current(stream), args, workspace_of(stream));
}

void CudaKernels::linear_gelu_forward(Stream& stream, const LinearGeluForwardArgs& args) {
  if (!matmul_.linear_gelu_forward(current(stream), args, workspace_of(stream)))
    Kernels::linear_gelu_forward(stream, args);
}

void CudaKernels::linear_gelu_backward_input(Stream& stream, const LinearGeluBackwardInputArgs& args) {
  if (!matmul_.linear_gelu_backward_input(current(stream), args, workspace_of(stream)))
    Kernels::linear_gelu_backward_input(stream, args);
}

void CudaKernels::bias_gradient(Stream&, const BiasGradientArgs&) { not_yet(); }
void CudaKernels::gelu_forward(Stream&, const GeluForwardArgs&) { not_yet(); }
void CudaKernels::gelu_backward(Stream&, const GeluBackwardArgs&) { not_yet(); }

void CudaKernels::layernorm_forward(Stream& stream, const LayerNormForwardArgs& args) {
  cuda::layernorm_forward(current(stream), args);
}

void CudaKernels::residual_layernorm_forward(Stream& stream, const ResidualLayerNormForwardArgs& args) {
  cuda::residual_layernorm_forward(current(stream), args);
}

void CudaKernels::layernorm_backward(Stream&, const LayerNormBackwardArgs&) { not_yet(); }
void CudaKernels::residual_add(Stream&, const ResidualAddArgs&) { not_yet(); }

void CudaKernels::attention_forward(Stream&, const AttentionForwardArgs&) { not_yet(); }
void CudaKernels::attention_backward(Stream&, const AttentionBackwardArgs&) { not_yet(); }

void CudaKernels::embedding_forward(Stream& stream, const EmbeddingForwardArgs& args) {
  cuda::embedding_forward(current(stream), args);
}

void CudaKernels::embedding_backward(Stream& stream, const EmbeddingBackwardArgs& args) {
  cuda::embedding_backward(current(stream), args, workspace_of(stream));
}

void CudaKernels::cross_entropy_forward(Stream& stream, const CrossEntropyForwardArgs& args) {
  cuda::cross_entropy_forward(current(stream), args);
}

void CudaKernels::cross_entropy_rescale(Stream& stream, const CrossEntropyRescaleArgs& args) {
  cuda::cross_entropy_rescale(current(stream), args);
}

void CudaKernels::cross_entropy_loss(Stream& stream, const CrossEntropyLossArgs& args) {
  cuda::cross_entropy_loss(current(stream), args);
}

void CudaKernels::cross_entropy_backward(Stream& stream, const CrossEntropyBackwardArgs& args) {
  cuda::cross_entropy_backward(current(stream), args);
}

void CudaKernels::adamw(Stream& stream, const AdamWArgs& args) {
  cuda::adamw(current(stream), args, rounding_);
}

void CudaKernels::sum_of_squares(Stream&, const SumOfSquaresArgs&) { not_yet(); }
void CudaKernels::zero(Stream&, Tensor) { not_yet(); }
void CudaKernels::copy(Stream&, Tensor, Tensor) { not_yet(); }
void CudaKernels::cast(Stream&, Tensor, Tensor) { not_yet(); }
void CudaKernels::add(Stream&, Tensor, Tensor) { not_yet(); }
void CudaKernels::maximum(Stream&, Tensor, Tensor) { not_yet(); }

}  // namespace tenax::kernels::cuda
