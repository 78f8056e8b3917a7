#include "kernels/cuda/matmul_search.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/matmul_call.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kRounds = 3, kRunsInRound = 2, kInPlaceRuns = 3;

MatmulChoice best_choice(MatmulSearch& search, std::span<const cublasLtMatmulHeuristicResult_t> proposals,
                         bool same_bits) {
  std::vector<Trial> trials;
  for (const cublasLtMatmulHeuristicResult_t& proposal : proposals)
    trials.push_back(search.trial_of(proposal.algo));
  const std::size_t best = best_of(trials, same_bits);
  MatmulChoice choice{proposals[best].algo};
  if (search.plan().epilogue == Epilogue::d_gelu && trials[best].ran)
    choice.aux_in_place = search.works_in_place(choice.algorithm, trials[best].bits);
  return choice;
}

}  // namespace

MatmulSearch::MatmulSearch(cublasLtHandle_t handle, const MatmulPlan& plan, std::size_t operand_bytes)
    : handle_(handle), plan_(narrowed(plan, operand_bytes)), bench_(plan_) {}

Trial MatmulSearch::trial_of(const cublasLtMatmulAlgo_t& algorithm) {
  MatmulCall call(plan_, bench_.operands());
  Trial trial;
  if (!call.admits(handle_, algorithm)) return trial;
  bench_.reset_outputs();
  if (call.run(handle_, algorithm, bench_.workspace(), bench_.stream()) != CUBLAS_STATUS_SUCCESS)
    return trial;
  trial.bits = bench_.checksum_of_outputs();
  trial.ran = true;
  trial.seconds = seconds_of(call, algorithm);
  return trial;
}

// The least of several rounds: whatever else runs on the GPU only adds.
double MatmulSearch::seconds_of(MatmulCall& call, const cublasLtMatmulAlgo_t& algorithm) {
  double least = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double seconds = bench_.seconds_of([&] {
      for (int run = 0; run < kRunsInRound; ++run)
        TENAX_CUBLAS_CHECK(call.run(handle_, algorithm, bench_.workspace(), bench_.stream()));
    });
    least = round == 0 ? seconds : std::min(least, seconds);
  }
  return least / kRunsInRound;
}

bool MatmulSearch::works_in_place(const cublasLtMatmulAlgo_t& algorithm, std::uint64_t expected_bits) {
  MatmulOperands operands = bench_.operands();
  operands.aux = operands.d;
  MatmulCall call(plan_, operands);
  for (int run = 0; run < kInPlaceRuns; ++run) {
    bench_.copy_aux_to_d();
    if (call.run(handle_, algorithm, bench_.workspace(), bench_.stream()) != CUBLAS_STATUS_SUCCESS)
      return false;
    if (bench_.checksum_of_outputs() != expected_bits) return false;
  }
  return true;
}

MatmulChoice choose_by_trials(cublasLtHandle_t handle, const MatmulPlan& plan,
                              std::span<const cublasLtMatmulHeuristicResult_t> proposals, bool same_bits) {
  for (const std::size_t operand_bytes : {kTrialOperand_bytes, kTrialOperand_bytes / 8}) {
    MatmulSearch search(handle, plan, operand_bytes);
    if (search.has_memory()) return best_choice(search, proposals, same_bits);
  }
  return MatmulChoice{proposals.front().algo};
}

}  // namespace tenax::kernels::cuda
