#include "kernels/cuda/cuda_kernels.hpp"

#include <cassert>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cuda_stream.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/kernel_loading.hpp"
#include "kernels/cuda/operations.hpp"

namespace tenax::kernels::cuda {
namespace {

CudaStream& ours(Stream& stream) {
  assert(dynamic_cast<CudaStream*>(&stream) && "an operation runs on a stream of its own device");
  return static_cast<CudaStream&>(stream);
}

cudaStream_t current(Stream& stream) { return ours(stream).current(); }
Workspace& workspace_of(Stream& stream) { return ours(stream).workspace(); }

}  // namespace

CudaKernels::CudaKernels(const CudaOptions& options)
    : choices_(options.deterministic),
      matmul_(choices_),
      attention_(choices_),
      rounding_{options.stochastic_rounding, options.seed} {
  load_own_kernels();
  cudaDeviceProp properties;
  TENAX_CUDA_CHECK(cudaGetDeviceProperties(&properties, options.index));
  choices_.set_multiprocessors(properties.multiProcessorCount);
  choices_.set_machine(std::string(properties.name) + ", " + library_versions());
}

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

void CudaKernels::bias_gradient(Stream& stream, const BiasGradientArgs& args) {
  cuda::bias_gradient(current(stream), args, workspace_of(stream));
}

void CudaKernels::gelu_forward(Stream& stream, const GeluForwardArgs& args) {
  cuda::gelu_forward(current(stream), args);
}

void CudaKernels::gelu_backward(Stream& stream, const GeluBackwardArgs& args) {
  cuda::gelu_backward(current(stream), args);
}

void CudaKernels::layernorm_forward(Stream& stream, const LayerNormForwardArgs& args) {
  cuda::layernorm_forward(current(stream), args);
}

void CudaKernels::residual_layernorm_forward(Stream& stream, const ResidualLayerNormForwardArgs& args) {
  cuda::residual_layernorm_forward(current(stream), args);
}

void CudaKernels::layernorm_backward(Stream& stream, const LayerNormBackwardArgs& args) {
  cuda::layernorm_backward(current(stream), args, workspace_of(stream));
}

void CudaKernels::residual_add(Stream& stream, const ResidualAddArgs& args) {
  cuda::residual_add(current(stream), args);
}

void CudaKernels::attention_forward(Stream& stream, const AttentionForwardArgs& args) {
  if (!attention_.forward(current(stream), args, workspace_of(stream)))
    own_attention_forward(current(stream), args);
}

void CudaKernels::attention_backward(Stream& stream, const AttentionBackwardArgs& args) {
  if (!attention_.backward(current(stream), args, workspace_of(stream)))
    own_attention_backward(current(stream), args, workspace_of(stream));
}

void CudaKernels::attention_decode(Stream& stream, const AttentionDecodeArgs& args) {
  cuda::attention_decode(current(stream), args, workspace_of(stream));
}

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

void CudaKernels::update_coefficients(Stream& stream, const UpdateCoefficientsArgs& args) {
  cuda::update_coefficients(current(stream), args);
}

void CudaKernels::adamw(Stream& stream, const UpdateArgs& args) {
  cuda::adamw(current(stream), args, rounding_);
}

void CudaKernels::lion(Stream& stream, const UpdateArgs& args) {
  cuda::lion(current(stream), args, rounding_);
}

void CudaKernels::sum_of_squares(Stream& stream, const SumOfSquaresArgs& args) {
  cuda::sum_of_squares(current(stream), args, workspace_of(stream));
}

void CudaKernels::zero(Stream& stream, Tensor destination) { cuda::zero(current(stream), destination); }

void CudaKernels::copy(Stream& stream, Tensor source, Tensor destination) {
  cuda::copy(current(stream), source, destination);
}

void CudaKernels::cast(Stream& stream, Tensor source, Tensor destination) {
  cuda::cast(current(stream), source, destination);
}

void CudaKernels::add(Stream& stream, Tensor source, Tensor destination) {
  cuda::add(current(stream), source, destination);
}

void CudaKernels::maximum(Stream& stream, Tensor source, Tensor destination) {
  cuda::maximum(current(stream), source, destination);
}

void CudaKernels::chunk_sum(Stream& stream, const ChunkSumArgs& args) {
  cuda::chunk_sum(current(stream), args);
}

}  // namespace tenax::kernels::cuda
