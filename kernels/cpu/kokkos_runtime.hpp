// The life of Kokkos in this process.
#pragma once

namespace tenax::kernels {

/// Initialises Kokkos on the first call of the process, from whatever thread, unless someone else has; what
/// was initialised here is finalised when the process exits. Kokkos cannot be initialised twice, so it must
/// outlive every device.
void require_kokkos();

}  // namespace tenax::kernels
