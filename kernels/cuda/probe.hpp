#pragma once

namespace tenax::kernels::cuda {

/// Whether this build's machine code runs on the device that is current.
bool has_kernels_for_current_device();

}  // namespace tenax::kernels::cuda
