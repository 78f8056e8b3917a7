// The table of a set that has attention of its own, compiled with it, and all else of the set whose function TENAX_CPU_LOOPS_BASE
// is. TENAX_CPU_LOOPS is its own function, TENAX_CPU_LOOPS_NAME its name, TENAX_CPU_LOOPS_BF16 what its products of bf16 run on.
#include "kernels/cpu/cpu_loops.hpp"

namespace tenax::kernels {

const CpuLoops& TENAX_CPU_LOOPS_BASE();
const CpuLoops& TENAX_CPU_LOOPS();

namespace {

CpuLoops with_attention_of_this_set(CpuLoops loops) {
  loops.name = TENAX_CPU_LOOPS_NAME;
  loops.bf16 = Bf16Instructions::TENAX_CPU_LOOPS_BF16;
  loops.create_attention = &create_attention_loops;
  return loops;
}

}  // namespace

const CpuLoops& TENAX_CPU_LOOPS() {
  static const CpuLoops loops = with_attention_of_this_set(TENAX_CPU_LOOPS_BASE());
  return loops;
}

}  // namespace tenax::kernels
