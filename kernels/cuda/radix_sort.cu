#include "kernels/cuda/radix_sort.hpp"

#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {
namespace {

// With null scratch CUB only says how much it needs.
std::size_t run(cudaStream_t stream, const SortPairs& p, void* scratch, std::size_t bytes) {
  TENAX_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(scratch, bytes, p.keys, p.sorted_keys, p.values,
                                                   p.sorted_values, p.count, 0, p.key_bits, stream));
  return bytes;
}

}  // namespace

std::size_t scratch_bytes_of(const SortPairs& pairs) { return run(nullptr, pairs, nullptr, 0); }

void sort_pairs(cudaStream_t stream, const SortPairs& pairs, void* scratch, std::size_t scratch_bytes) {
  run(stream, pairs, scratch, scratch_bytes);
}

}  // namespace tenax::kernels::cuda
