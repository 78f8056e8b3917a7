// The CPU as a device for long runs (create_cpu_device() of device.hpp: for any other use).
//
// oneDNN blocks some extents badly, and which ones depends on processor and version. Products are therefore cut
// into pieces of rows and columns of the result, and on a machine that is not known yet a few cuts are tried, on
// the products themselves. A cut is admitted only if it writes the bits of the usual one: what is chosen changes
// times alone, needs no agreement among ranks, and is nothing that a resumed run must know.
#pragma once

#include <filesystem>
#include <memory>

#include "kernels/device.hpp"

namespace tenax::kernels {

/// Tries how products of a shape that take longer than some 0.3 ms are cut best when it first meets them (some
/// 22 times what one takes), and keeps that in `cache`/cpu_products.txt for later processes on such processors.
/// Where that is not possible Device::notes() says so, and nothing else changes. `cache`: a folder, which need
/// not be there yet; empty: nothing is kept. `threads`: as for create_cpu_device().
std::unique_ptr<Device> create_tuned_cpu_device(const std::filesystem::path& cache, int threads = 1);

}  // namespace tenax::kernels
