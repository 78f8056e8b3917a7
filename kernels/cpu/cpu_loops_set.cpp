// The table of one set: TENAX_CPU_LOOPS is its function, TENAX_CPU_LOOPS_NAME its name. Compiled once for each, with all other loops.
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cpu/matmul_loops.hpp"

namespace tenax::kernels {

const CpuLoops& TENAX_CPU_LOOPS();

const CpuLoops& TENAX_CPU_LOOPS() {
  static constexpr CpuLoops kLoops{
      .name = TENAX_CPU_LOOPS_NAME,
      .base = TENAX_CPU_LOOPS_NAME,
      .create_kernels = []() -> std::unique_ptr<Kernels> { return std::make_unique<CpuKernels>(); },
      .create_attention = &create_attention_loops,
      .convert_to_fp32 = &convert_to_fp32,
      .round_to_bf16 = &round_to_bf16,
      .multiply_fp64 = &multiply_fp64,
      .multiply_row = &multiply_row};
  return kLoops;
}

}  // namespace tenax::kernels
