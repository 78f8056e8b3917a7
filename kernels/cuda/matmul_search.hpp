// Which algorithm a shape gets: a short timed search over what cuBLASLt's heuristics propose.
//
// Two runs must compute the same bits, and a clock never says the same twice. So the search may only decide what cannot be
// seen in results: of the proposals it admits those which write, for one product of random numbers, bit for bit what the
// first proposal writes: the same sums in the same order, with other tiles, stages or clusters. The first is the same in
// every run (heuristics know the shape and the device, no clock). The product's random numbers show another order in any
// of its thousands of results (worth_trying()). A split inner index stays possible: its partial sums are added in a fixed
// order, and a weight gradient of few tiles and many rows is several times slower without.
#pragma once

#include <cublasLt.h>

#include <span>

#include "kernels/cuda/matmul_plan.hpp"

namespace tenax::kernels::cuda {

struct MatmulChoice {
  cublasLtMatmulAlgo_t algorithm;
  /// d_gelu: d may be aux's memory. cuBLASLt does not say, so it is tried, repeatedly, beside the search.
  bool aux_in_place = false;
};

/// The best of `proposals` (at least one) for `plan`; the first where there is too little memory for trials (up to half a
/// GiB, taken for the search alone). `same_bits`: as above; else the fastest of all. Runs on a stream of its own and
/// blocks until it has ended. Throws Error(rank) when the device breaks or takes longer than a minute.
MatmulChoice choose_by_trials(cublasLtHandle_t handle, const MatmulPlan& plan,
                              std::span<const cublasLtMatmulHeuristicResult_t> proposals, bool same_bits);

}  // namespace tenax::kernels::cuda
