// The matrix-product rate of this machine, measured: what a step's speed is compared with.
#pragma once

#include "kernels/device.hpp"

namespace tenax::app {

/// FLOP/s of large products in `compute` type on this rank, alone or beside its peers: the best of
/// several rounds, about 0.1 s. For devices with data.
double measure_matmul_rate(kernels::Device& device, kernels::DType compute);

}  // namespace tenax::app
