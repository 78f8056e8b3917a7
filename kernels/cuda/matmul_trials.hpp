// Which of several algorithms for one product to use: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/matmul_plan.hpp"

namespace tenax::kernels::cuda {

/// What one algorithm did with a product of random numbers.
struct Trial {
  bool ran = false;
  std::uint64_t bits = 0;  ///< checksum of all it wrote
  double seconds = 0;
};

/// The fastest that ran: with `same_bits_as_first` only of those that wrote what the first did, and the first where that
/// did not run. 0 where none ran.
std::size_t best_of(std::span<const Trial> trials, bool same_bits_as_first);

/// Whether the plan takes long enough for trials to pay (10 µs on a Hopper), and writes enough for two orders of summation
/// to show: of fp32 results nearly every one differs, of those rounded to bf16 one in 30 000.
bool worth_trying(const MatmulPlan& plan);

}  // namespace tenax::kernels::cuda
