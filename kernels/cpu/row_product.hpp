// The product of one row with a matrix: what generating a token is made of.
#pragma once

#include "kernels/cpu/thread_team.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// True for a product that multiply_row() computes: one row of fp32 or bf16, not added to what is there.
bool is_row_product(const MatmulArgs& args);

/// The matrix is read once, and memory sets the pace. The bits do not depend on the team.
void multiply_row(const MatmulArgs& args, ThreadTeam& team);

}  // namespace tenax::kernels
