// Memory of a CUDA device, and pinned memory of its host.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_context.hpp"
#include "kernels/device.hpp"

namespace tenax::kernels::cuda {

/// Zeroed when this returns. Pinned memory has one address for host and devices. Throws Error(rank)
/// where it is full.
std::unique_ptr<Buffer> allocate_memory(std::shared_ptr<CudaContext> context, std::size_t bytes,
                                        MemoryKind kind);
/// Device::register_host.
std::unique_ptr<HostRegistration> register_memory(std::shared_ptr<CudaContext> context,
                                                  std::shared_ptr<std::byte> memory, std::size_t bytes);

/// Device::export_memory.
int export_memory(const CudaContext& context, const Buffer& buffer);

}  // namespace tenax::kernels::cuda
