#include "kernels/cuda/range.hpp"

#include <nvtx3/nvToolsExt.h>

namespace tenax::kernels::cuda {

void push_range(const char* name) { nvtxRangePushA(name); }
void pop_range() { nvtxRangePop(); }

}  // namespace tenax::kernels::cuda
