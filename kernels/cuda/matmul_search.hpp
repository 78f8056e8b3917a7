// Which algorithm a shape gets: a short timed search over what cuBLASLt's heuristics propose.
//
// Two runs must compute the same bits, and a clock never says the same twice. So the search may only decide
// what cannot be seen in results: of the proposals it admits those which write, for one product of random
// numbers, bit for bit what the first proposal writes: the same sums in the same order, with other tiles,
// stages or clusters. The first is the same in every run (heuristics know the shape and the device, no
// clock). The product's random numbers show another order in any of its thousands of results
// (worth_trying()). A split inner index stays possible: its partial sums are added in a fixed order, and a
// weight gradient of few tiles and many rows is several times slower without.
#pragma once

#include <cublasLt.h>

#include <span>

#include "kernels/cuda/matmul_choice.hpp"
#include "kernels/cuda/matmul_plan.hpp"
#include "kernels/cuda/trial_bench.hpp"

namespace tenax::kernels::cuda {

class MatmulCall;

/// One plan's algorithms, run with random numbers in memory and on a stream of its own. Thread rule: one
/// thread. All block until the GPU has done it, and throw Error(rank) when it breaks or takes longer than a
/// minute.
class MatmulSearch {
 public:
  /// Its operands take at most about `operand_bytes` while it lives.
  MatmulSearch(cublasLtHandle_t handle, const MatmulPlan& plan, std::size_t operand_bytes);

  /// False where the device had too little: then nothing else may be called.
  bool has_memory() const { return bench_.has_memory(); }
  /// What was tried: the plan, narrowed to the memory.
  const MatmulPlan& plan() const { return plan_; }
  Trial trial_of(const cublasLtMatmulAlgo_t& algorithm);
  /// d_gelu: whether d, in aux's memory, gets `expected_bits`, the trial's, every time.
  bool works_in_place(const cublasLtMatmulAlgo_t& algorithm, std::uint64_t expected_bits);

 private:
  double seconds_of(MatmulCall& call, const cublasLtMatmulAlgo_t& algorithm);

  cublasLtHandle_t handle_;
  MatmulPlan plan_;
  TrialBench bench_;
};

/// How many of the heuristics' proposals are tried.
inline constexpr int kTrialProposals = 16;

/// The most that operands take for trials, where there is so much memory. A product that is narrowed has fewer
/// tiles: what is fastest for it need not be so for the one that is to run.
inline constexpr std::size_t kTrialOperand_bytes = std::size_t{4} << 30;

/// The best of `proposals` (at least one) for `plan`, narrowed to kTrialOperand_bytes, and where there is not so
/// much memory to an eighth; the first where there is too little for that, too.
/// `same_bits`: as above; else the fastest of all.
MatmulChoice choose_by_trials(cublasLtHandle_t handle, const MatmulPlan& plan,
                              std::span<const cublasLtMatmulHeuristicResult_t> proposals, bool same_bits);

}  // namespace tenax::kernels::cuda
