#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels {

std::unique_ptr<Device> create_cuda_device(int) {
  throw Error(
      Scope::rank,
      "this build has no CUDA back end: configure with -DTENAX_CUDA=ON (it needs the CUDA toolkit, cuDNN "
      "and NCCL), or set device.kind = \"cpu\"");
}

}  // namespace tenax::kernels
