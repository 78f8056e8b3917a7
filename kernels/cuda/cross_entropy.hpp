// Vocabulary-parallel cross entropy on the GPU (Shoeybi et al. 2019, section 3): Kernels' four operations. A NaN or
// infinite logit makes its row's loss non-finite, as there.
//
// Bytes: forward reads the valid logits once (the maximum and the sum in one pass); backward reads and writes them once.
// exp is the processor's own in fp32 (2 ulp), exact in fp64.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

void cross_entropy_forward(cudaStream_t stream, const CrossEntropyForwardArgs& args);
void cross_entropy_rescale(cudaStream_t stream, const CrossEntropyRescaleArgs& args);
void cross_entropy_loss(cudaStream_t stream, const CrossEntropyLossArgs& args);
void cross_entropy_backward(cudaStream_t stream, const CrossEntropyBackwardArgs& args);

}  // namespace tenax::kernels::cuda
