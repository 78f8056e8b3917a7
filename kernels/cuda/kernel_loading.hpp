// Loading own kernels before anything waits on the device. CUDA loads a kernel at its first launch, and may wait for
// all streams then: for ever, where one of them stands at a message, or at a flag, that the launching thread is to
// bring about.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cpu/element.hpp"
#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {

/// For the device that is current. Throws Error(rank) where it cannot run one of them.
template <class... Kernels>
void load(Kernels*... kernels) {
  cudaFuncAttributes attributes;
  (TENAX_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernels)), ...);
}

/// Calls f(T{}) with every element type that operations have.
template <class Function>
void for_each_type(const Function& f) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) with_type(dtype, f);
}

/// Each loads the kernels of its file.
void load_attention_kernels();
void load_attention_decode_kernels();
void load_chunk_sum_kernels();
void load_column_sum_kernels();
void load_cross_entropy_kernels();
void load_elementwise_kernels();
void load_embedding_kernels();
void load_embedding_backward_kernels();
void load_gelu_kernels();
void load_layernorm_forward_kernels();
void load_layernorm_backward_kernels();
void load_matmul_kernels();
void load_square_sum_kernels();
void load_weight_update_kernels();

/// All of them. What a library brings (CUB's radix sort) is loaded by its first call.
void load_own_kernels();

}  // namespace tenax::kernels::cuda
