// Linked in place of tenax_kernels_cuda: whole runs with device.kind = "cuda" on the stand-in.
// TENAX_STAND_IN_JITTER_US: StandInOptions::jitter_us.
#include <cstdlib>

#include "kernels/cuda_device.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::kernels {

CudaPresence cuda_presence() { return {1, {}}; }

std::string cuda_versions() { return "stand-in"; }

std::unique_ptr<Device> create_cuda_device(const CudaOptions& options) {
  const char* const jitter = std::getenv("TENAX_STAND_IN_JITTER_US");
  return test::create_stand_in({jitter ? std::atoi(jitter) : 0, options.seed});
}

}  // namespace tenax::kernels
