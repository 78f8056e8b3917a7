// Named ranges that Nsight Systems shows on the launching thread's line, and over the operations launched
// within (NVTX).
#pragma once

namespace tenax::kernels::cuda {

void push_range(const char* name);
void pop_range();

}  // namespace tenax::kernels::cuda
