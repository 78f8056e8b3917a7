// Copies of matrices between bf16 and fp32.
#pragma once

#include "kernels/cpu/matmul.hpp"

namespace tenax::kernels {

/// from (bf16 or fp32) → to (fp32), element by element; both views of equal extents, `to` not transposed.
void convert_to_fp32(const MatrixView& from, const MatrixView& to);

/// to (bf16) = from (fp32), rounded to nearest even; neither is transposed.
void round_to_bf16(const MatrixView& from, const MatrixView& to);

}  // namespace tenax::kernels
