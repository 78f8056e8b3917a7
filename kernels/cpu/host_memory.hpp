// Buffers in the host's memory.
#pragma once

#include <memory>

#include "kernels/device.hpp"

namespace tenax::kernels {

/// Zeroed. Blocks of 2 MiB and more are mapped on their own, aligned to and advised to use huge pages; a page
/// exists from its first use on. `limit_bytes`: more than this is refused at once, since the kernel may
/// promise memory that does not exist. Throws Error(rank).
std::unique_ptr<Buffer> allocate_host_memory(std::size_t bytes, std::size_t limit_bytes);

}  // namespace tenax::kernels
