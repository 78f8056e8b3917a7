// Fp32Matrix: a copy of a matrix in fp32, for products that cannot read it, or not quickly, where it lies.
#pragma once

#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/matmul_scratch.hpp"
#include "kernels/cpu/thread_team.hpp"

namespace tenax::kernels {

/// The least distance of rows of `columns` floats, in floats, that lets neighbouring rows begin in different sets of a cache:
/// an odd number of cache lines.
std::int64_t stride_across_sets(std::int64_t columns);

/// Memory that grows on demand and is kept. Belongs to one thread at a time.
class Fp32Matrix {
 public:
  /// The numbers of `view`, fp32 or bf16, stored in the order that they have there: a transposed view gives a transposed one.
  /// Its rows are dense if transposed, `stride_across_sets` apart if not. Valid until the next call. The members of the team,
  /// which may be null, share the work.
  MatrixView copy(const MatrixView& view, ThreadTeam* team = nullptr);

  /// Dense fp32 [rows, columns] of any content. Valid until the next call.
  MatrixView dense(std::int64_t rows, std::int64_t columns);

 private:
  MatrixView with_stride(std::int64_t rows, std::int64_t columns, std::int64_t stride);

  ScratchArray<float> numbers_;
};

}  // namespace tenax::kernels
