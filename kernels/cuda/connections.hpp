#pragma once

namespace tenax::kernels::cuda {

/// Streams share the queues by which the host reaches the device, 8 of them unless the environment says
/// otherwise. A stream that waits for a flag holds up whatever stands behind it in its queue, and where the
/// flag is set by something behind it, for ever. So the most there can be are asked for, 32, unless the
/// user's environment says otherwise. Before the process's first call of CUDA.
void ask_for_connections();

}  // namespace tenax::kernels::cuda
