#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels {

CudaPresence cuda_presence() { return {0, "this build has no CUDA back end"}; }

std::string cuda_versions() { return {}; }

std::unique_ptr<Device> create_cuda_device(const CudaOptions&) {
  throw Error(
      Scope::rank,
      "this build has no CUDA back end: configure with -DTENAX_CUDA=ON (it needs the CUDA toolkit, cuDNN "
      "and NCCL), or set device.kind = \"cpu\"");
}

}  // namespace tenax::kernels
