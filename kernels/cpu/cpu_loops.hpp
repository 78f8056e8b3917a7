// CpuLoops: the loops of this folder as compiled for one instruction set. A program holds several sets, of
// which the first one asked for chooses by the processor: one package serves all of them.
//
// A set is one object file whose symbols are local but for its function loops_NAME(): what the standard
// library and headers put into it with its instructions is never taken for others' (CMakeLists.txt).
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/thread_team.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// What multiplies matrices of bf16; `none`: fp32's instructions, after the numbers are widened.
enum class Bf16Instructions { none, pairs, tiles };

struct CpuLoops {
  const char* name = "";
  /// Of the set that all but attention and products of bf16 are of; its own where it has no other one's.
  const char* base = "";
  Bf16Instructions bf16 = Bf16Instructions::none;
  std::unique_ptr<Kernels> (*create_kernels)() = nullptr;
  std::unique_ptr<CpuAttention> (*create_attention)(ThreadTeam& team) = nullptr;
  // Of matmul_loops.hpp:
  void (*convert_to_fp32)(const MatrixView& from, const MatrixView& to) = nullptr;
  void (*round_to_bf16)(const MatrixView& from, const MatrixView& to) = nullptr;
  void (*multiply_fp64)(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                        const double* bias) = nullptr;
  void (*multiply_row)(const MatmulArgs& args, ThreadTeam& team) = nullptr;
};

/// A set that is built in, whether this processor has its instructions, and whether they gain anything there.
struct CpuLoopsChoice {
  const char* name;
  const CpuLoops& (*loops)();
  bool runs_here;
  bool pays = true;
};

/// The last of `sets` that runs here and pays, or the one called `wanted` (null, empty: none in particular). Throws
/// Error(usage) where there is none of that name, or this processor lacks its instructions.
const CpuLoops& choose_loops(std::span<const CpuLoopsChoice> sets, const char* wanted);

/// Those of this build, from the fewest instructions to the most.
std::span<const CpuLoopsChoice> built_loops();

/// The set that this process computes with, chosen once. The environment variable TENAX_CPU_LOOPS names
/// another one, for tests. Throws as choose_loops().
const CpuLoops& cpu_loops();

}  // namespace tenax::kernels
