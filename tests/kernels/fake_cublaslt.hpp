// cuBLASLt and CUDA for tests of what we ask of them: products run at once, on the host, as their descriptors (the real
// library's) say; streams have a clock that only products move.
#pragma once

#include <cstdint>
#include <vector>

namespace tenax::kernels::cuda::test {

/// An algorithm that the fake proposes.
struct FakeAlgorithm {
  double seconds = 1e-3;
  bool sums_backwards = false;           ///< other bits
  bool reads_aux_after_writing = false;  ///< d_gelu in place goes wrong
};

/// What the fake does, and saw. Thread rule: one thread, the test's. Products with more than a million multiplications
/// have only their first column computed, the others are zero.
struct FakeLibrary {
  static FakeLibrary& instance();

  std::vector<FakeAlgorithm> algorithms{{}};
  bool has_epilogues = true;
  bool has_memory = true;
  bool has_pool = true;  ///< whether the device has memory pools at all
  bool captures = false;
  bool admits = true;  ///< what is not, cannot run where it was not found

  int products = 0;         ///< run so far
  int last_algorithm = -1;  ///< which ran last
  int multiprocessors = 0;  ///< that it was to count on; 0: all
  std::int64_t pool_bytes = 0;
  std::vector<std::size_t> asked_bytes;  ///< of the pool, each time
  double clock_s = 0;
};

}  // namespace tenax::kernels::cuda::test
