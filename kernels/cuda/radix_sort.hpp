// Sorting numbers on the device, equal ones in the order they came in (CUB's radix sort, which reads and
// writes them once per 8 bits).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tenax::kernels::cuda {

struct SortPairs {
  const std::uint32_t* keys = nullptr;
  const std::int32_t* values = nullptr;
  std::uint32_t* sorted_keys = nullptr;
  std::int32_t* sorted_values = nullptr;
  int count = 0;
  int key_bits = 32;  ///< higher bits of the keys are not looked at
};

/// Bytes of scratch memory that sort_pairs() needs for these counts.
std::size_t scratch_bytes_of(const SortPairs& pairs);
/// Stable; the order does not depend on timing. Allocates nothing. scratch: device memory, aligned
/// to 256 bytes.
void sort_pairs(cudaStream_t stream, const SortPairs& pairs, void* scratch, std::size_t scratch_bytes);

}  // namespace tenax::kernels::cuda
