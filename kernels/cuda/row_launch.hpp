// How rows are dealt to groups of threads.
#pragma once

#include <vector_types.h>

#include <algorithm>
#include <cstdint>

namespace tenax::kernels::cuda {

/// What the launches here are tuned for (H100, H200). A constant, so that sums do not depend on the device.
inline constexpr std::int64_t kMultiprocessors = 132;

/// So that every kernel may use 128 registers: __launch_bounds__(kMaxRowThreads).
inline constexpr int kMaxRowThreads = 512;

struct RowLaunch {
  dim3 grid, block;
};

/// A warp each, four to a block, for rows of up to 32 · `slots` packs; else a block each, with `slots` packs
/// to a thread until there are kMaxRowThreads. Row r belongs to blockIdx.x · blockDim.y + threadIdx.y.
inline RowLaunch launch_rows(std::int64_t rows, std::int64_t packs, int slots) {
  constexpr std::int64_t kLanes = 32, kRowsOfWarps = 4;
  const std::int64_t warps =
      std::clamp<std::int64_t>((packs + kLanes * slots - 1) / (kLanes * slots), 1, kMaxRowThreads / kLanes);
  const std::int64_t rows_of_block = warps == 1 ? kRowsOfWarps : 1;
  return {dim3(static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block)),
          dim3(static_cast<unsigned>(kLanes * warps), static_cast<unsigned>(rows_of_block))};
}

}  // namespace tenax::kernels::cuda
