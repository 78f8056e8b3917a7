// Products in double precision: for tests of gradients, so plain and blocked rather than fast.
#pragma once

#include "kernels/cpu/matmul.hpp"

namespace tenax::kernels {

/// c (+)= a · b (+ bias), all fp64; the sum over the inner index runs in increasing order.
void multiply_fp64(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                   const double* bias);

}  // namespace tenax::kernels
