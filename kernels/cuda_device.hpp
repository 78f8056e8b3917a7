// The CUDA back end: its presence on this machine, and its device.
//
// It is a library of its own (tenax_kernels_cuda), which only app/ links: kernels/cuda when the
// toolkit was found, else kernels/cuda/absent.cpp; tests link a stand-in that runs the CPU's
// operations on threads (tests/kernels/async).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/device.hpp"

namespace tenax::kernels {

struct CudaPresence {
  int devices = 0;
  std::string reason;  ///< why there is none: "no NVIDIA driver on this machine"; empty when there is one
};
/// Asks the driver; never throws. 0 devices where the back end was not compiled in.
CudaPresence cuda_presence();

/// "CUDA 13.0, cuBLASLt 13.1.0, cuDNN 9.19.0": what was compiled in, for --version; empty when
/// nothing was.
std::string cuda_versions();

struct CudaOptions {
  int index = 0;              ///< which of the host's devices
  bool deterministic = true;  ///< false: faster backward kernels whose sums depend on timing may be used
  bool stochastic_rounding = false;  ///< master weights to bf16, by `seed`, parameter and step
  std::uint64_t seed = 1;
};

/// Throws Error(rank) naming the CMake option when the back end was not compiled in, or what is
/// wrong with the machine.
std::unique_ptr<Device> create_cuda_device(const CudaOptions& options);

/// Device::scratch_bytes of a CUDA device, on machines without one too.
std::size_t cuda_scratch_bytes(const StepShape& shape, bool deterministic);

/// What a plan made on a machine without a GPU gives a rank: an H200's memory, as that reads
/// without its driver's part and what the device keeps back.
inline constexpr std::size_t kCudaMemoryOnPaper_bytes = std::size_t{138} << 30;

}  // namespace tenax::kernels
