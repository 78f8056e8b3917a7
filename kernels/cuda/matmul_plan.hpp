// How a row-major product of ours is said to a column-major library: pure, and checked on the host by an
// interpreter of the plan (tests/kernels/cuda_matmul_plan_test.cpp).
//
// A row-major matrix [r, c] is a column-major one [c, r] with leading dimension c. So c[m, n] = op(a) ·
// op(b) is asked for as its transpose: D[n, m] = op(B) · op(A) with the library's A being our b and its B
// our a, each transposed where ours is. D's rows are our columns, so a bias over columns is the library's
// bias over rows.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// What follows the product, element by element: s = the product's sum (+ bias, by row of D).
enum class Epilogue {
  none,       ///< d = s
  bias,       ///< d = s + bias
  gelu,       ///< aux = s, d = gelu(s)
  bias_gelu,  ///< aux = s + bias, d = gelu(s + bias)
  d_gelu,     ///< d = s · gelu'(aux)
};
constexpr bool has_bias(Epilogue e) { return e == Epilogue::bias || e == Epilogue::bias_gelu; }
constexpr bool has_aux(Epilogue e) {
  return e == Epilogue::gelu || e == Epilogue::bias_gelu || e == Epilogue::d_gelu;
}

/// d[m, n] (+)= op(a)[m, k] · op(b)[k, n], column-major, with leading dimensions in elements; d's is also
/// aux's. It says everything but where the operands are.
struct MatmulPlan {
  Epilogue epilogue = Epilogue::none;
  DType input = DType::f32;   ///< a, b
  DType output = DType::f32;  ///< d, bias, aux
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;
  std::int64_t ld_a = 0, ld_b = 0, ld_d = 0;
  int multiprocessors = 0;  ///< that it may count on; 0: all
  auto operator<=>(const MatmulPlan&) const = default;

  std::int64_t size_of_a() const { return m * k; }
  std::int64_t size_of_b() const { return k * n; }
  std::int64_t size_of_d() const { return m * n; }
};

struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
  void* aux = nullptr;  ///< read by d_gelu, written by gelu and bias_gelu
};

struct PlannedMatmul {
  MatmulPlan plan;
  MatmulOperands operands;
};

PlannedMatmul plan_of(const MatmulArgs& args);
PlannedMatmul plan_of(const LinearGeluForwardArgs& args);
/// With the result in `d`: args.d_pre, or args.scratch where d_pre is pre's memory.
PlannedMatmul plan_of(const LinearGeluBackwardInputArgs& args, const Tensor& d);

/// Whether a library that wants biases of d's type, and GELU's other matrix in bf16 with rows of whole 16
/// bytes, can be asked for the plan's epilogue.
bool can_fuse(const MatmulPlan& plan);

/// The same product with m and n cut so that its operands take at most about `bytes`, for trying algorithms
/// out. k, types, and extents modulo 8, on which algorithms depend, stay.
MatmulPlan narrowed(MatmulPlan plan, std::size_t bytes);

/// Bytes of all operands.
std::size_t operand_bytes(const MatmulPlan& plan);

/// The largest power of two, up to 16, that divides the address: what algorithms ask of operands.
std::uint32_t alignment_of(const void* address);

/// What one algorithm did with a product of random numbers.
struct Trial {
  bool ran = false;
  std::uint64_t bits = 0;  ///< checksum of all it wrote
  double seconds = 0;
};

/// The fastest that ran: with `same_bits_as_first` only of those that wrote what the first did, and the first
/// where that did not run. 0 where none ran.
std::size_t best_of(std::span<const Trial> trials, bool same_bits_as_first);

/// Whether the plan takes long enough for trials to pay (10 µs on a Hopper), and writes enough for two orders
/// of summation to show: of fp32 results nearly every one differs, of those rounded to bf16 one in 30 000.
bool worth_trying(const MatmulPlan& plan);

}  // namespace tenax::kernels::cuda
