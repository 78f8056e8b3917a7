#include "kernels/cuda/connections.hpp"

#include <cstdlib>

namespace tenax::kernels::cuda {

void ask_for_connections() {
  constexpr int kKeepWhatIsThere = 0;
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", kKeepWhatIsThere);
  setenv("CUDA_DEVICE_MAX_COPY_CONNECTIONS", "32", kKeepWhatIsThere);
}

}  // namespace tenax::kernels::cuda
