#include "kernels/cuda/matmul_trials.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr std::int64_t kLeastOperations = std::int64_t{1} << 32;
constexpr std::int64_t kLeastOutputsFp32 = std::int64_t{1} << 14, kLeastOutputsBf16 = std::int64_t{1} << 20;

}  // namespace

std::size_t best_of(std::span<const Trial> trials, bool same_bits_as_first) {
  std::size_t best = 0;
  if (same_bits_as_first && !trials[0].ran) return best;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    if (!trials[i].ran || (same_bits_as_first && trials[i].bits != trials[0].bits)) continue;
    if (!trials[best].ran || trials[i].seconds < trials[best].seconds) best = i;
  }
  return best;
}

bool worth_trying(const MatmulPlan& plan) {
  if (plan.output == DType::f64) return false;
  return 2 * plan.m * plan.n * plan.k >= kLeastOperations &&
         plan.size_of_d() >= (plan.output == DType::bf16 ? kLeastOutputsBf16 : kLeastOutputsFp32);
}

}  // namespace tenax::kernels::cuda
