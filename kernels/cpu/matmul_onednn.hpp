// Products of fp32 and bf16 matrices by oneDNN, one primitive a shape, prepared once.
#pragma once

#include <memory>
#include <string>

#include "kernels/cpu/matmul.hpp"

namespace tenax::kernels {

/// One engine, one stream, one scratchpad. Belongs to one thread at a time.
class OneDnnProducts {
 public:
  OneDnnProducts();
  ~OneDnnProducts();

  /// Whether it multiplies bf16 with the instructions that the loops in use have for that (CpuLoops::bf16). Where it has others it
  /// multiplies bf16 too, but slower than fp32: at a quarter of the speed with AVX-512 alone, 2.6.3.
  static bool has_bf16();
  /// Of the library in use, e.g. "2.6.3".
  static std::string version();

  /// c (+)= a · b (+ bias); a and b fp32 or bf16 alike, c that type or fp32; bias has a's type or is null.
  /// Throws Error(rank) with oneDNN's status when it has no implementation or no memory.
  void run(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate, const void* bias);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenax::kernels
