// Matrix products by loops of our own, where oneDNN's would not do: in double precision, and of one row.
// Copies of matrices between bf16 and fp32. But for is_row_product(), callers take them from cpu_loops().
#pragma once

#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/thread_team.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// to (fp32) = from (bf16); neither is transposed.
void convert_to_fp32(const MatrixView& from, const MatrixView& to);

/// to (bf16) = from (fp32), rounded to nearest even; neither is transposed.
void round_to_bf16(const MatrixView& from, const MatrixView& to);

/// c (+)= a · b (+ bias), all fp64; the sum over the inner index runs in increasing order.
void multiply_fp64(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                   const double* bias);

/// True for a product that multiply_row() computes: one row of fp32, or of bf16 with a matrix whose rows have an even number of
/// elements; not added to what is there.
inline bool is_row_product(const MatmulArgs& args) {
  return args.a.rows() == 1 && !args.transpose_a && !args.accumulate && args.a.columns() > 0 &&
         (args.a.dtype == DType::f32 || (args.a.dtype == DType::bf16 && args.b.columns() % 2 == 0));
}

/// The matrix is read once, and memory sets the pace. The bits do not depend on the team.
void multiply_row(const MatmulArgs& args, ThreadTeam& team);

}  // namespace tenax::kernels
