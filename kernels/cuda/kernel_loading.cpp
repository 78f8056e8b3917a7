#include "kernels/cuda/kernel_loading.hpp"

namespace tenax::kernels::cuda {

void load_own_kernels() {
  load_attention_kernels();
  load_attention_decode_kernels();
  load_chunk_sum_kernels();
  load_column_sum_kernels();
  load_cross_entropy_kernels();
  load_elementwise_kernels();
  load_embedding_kernels();
  load_embedding_backward_kernels();
  load_gelu_kernels();
  load_layernorm_forward_kernels();
  load_layernorm_backward_kernels();
  load_matmul_kernels();
  load_square_sum_kernels();
  load_weight_update_kernels();
}

}  // namespace tenax::kernels::cuda
