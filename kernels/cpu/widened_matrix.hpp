// WidenedMatrix: a bf16 matrix in fp32, for processors that have no products of bf16.
#pragma once

#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/matmul_scratch.hpp"
#include "kernels/cpu/thread_team.hpp"

namespace tenax::kernels {

/// Memory that grows on demand and is kept. Belongs to one thread at a time.
class WidenedMatrix {
 public:
  /// The numbers of `view` in fp32, stored in the order that they have there: a transposed view gives a transposed one.
  /// Valid until the next call. The members of the team, which may be null, share the work.
  MatrixView widen(const MatrixView& view, ThreadTeam* team = nullptr);

  /// Dense fp32 [rows, columns] of any content. Valid until the next call.
  MatrixView dense(std::int64_t rows, std::int64_t columns);

 private:
  ScratchArray<float> numbers_;
};

}  // namespace tenax::kernels
