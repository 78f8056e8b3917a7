#include "kernels/cuda/matmul_plan.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::kernels::cuda {

namespace {

/// `extent` cut to at most half, the same modulo 8.
std::int64_t halved(std::int64_t extent) { return extent / 16 * 8 + extent % 8; }

std::int64_t stored_columns(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? rows : columns;
}

}  // namespace

PlannedMatmul plan_of(const MatmulArgs& args) {
  const std::int64_t rows = args.c.rows(), columns = args.c.columns();
  const std::int64_t inner = args.transpose_a ? args.a.rows() : args.a.columns();
  assert(args.a.size() == rows * inner && args.b.size() == inner * columns);
  assert((args.transpose_b ? args.b.columns() : args.b.rows()) == inner || args.b.size() == 0);
  assert(args.a.dtype == args.b.dtype);
  assert(args.c.dtype == args.a.dtype || args.c.dtype == accumulation_of(args.a.dtype));
  assert(!args.bias || (args.bias.size() == columns && args.bias.dtype == args.a.dtype));
  return {{.epilogue = args.bias ? Epilogue::bias : Epilogue::none,
           .input = args.a.dtype,
           .output = args.c.dtype,
           .m = columns,
           .n = rows,
           .k = inner,
           .transpose_a = args.transpose_b,
           .transpose_b = args.transpose_a,
           .accumulate = args.accumulate,
           .ld_a = stored_columns(inner, columns, args.transpose_b),
           .ld_b = stored_columns(rows, inner, args.transpose_a),
           .ld_d = columns},
          {.a = args.b.data, .b = args.a.data, .d = args.c.data, .bias = args.bias.data}};
}

PlannedMatmul plan_of(const LinearGeluForwardArgs& args) {
  PlannedMatmul planned = plan_of(MatmulArgs{.a = args.x, .b = args.weight, .c = args.y, .bias = args.bias});
  assert(args.pre.size() == args.y.size() && args.pre.dtype == args.y.dtype);
  planned.plan.epilogue = args.bias ? Epilogue::bias_gelu : Epilogue::gelu;
  planned.operands.aux = args.pre.data;
  return planned;
}

PlannedMatmul plan_of(const LinearGeluBackwardInputArgs& args, const Tensor& d) {
  PlannedMatmul planned =
      plan_of(MatmulArgs{.a = args.d_y, .b = args.weight, .c = d, .transpose_b = true, .bias = {}});
  assert(args.pre.size() == d.size() && args.pre.dtype == d.dtype);
  planned.plan.epilogue = Epilogue::d_gelu;
  planned.operands.aux = args.pre.data;
  return planned;
}

bool can_fuse(const MatmulPlan& plan) {
  if (has_aux(plan.epilogue)) return plan.output == DType::bf16 && plan.ld_d % 8 == 0;
  if (plan.epilogue == Epilogue::bias) return plan.input == plan.output && plan.output != DType::f64;
  return true;
}

MatmulPlan narrowed(MatmulPlan plan, std::size_t bytes) {
  while (operand_bytes(plan) > bytes && std::max(plan.m, plan.n) > 256) {
    const bool m_is_larger = plan.m > plan.n;
    std::int64_t& extent = m_is_larger ? plan.m : plan.n;
    extent = halved(extent);
    if (!m_is_larger) {
      if (plan.transpose_b) plan.ld_b = plan.n;
      continue;
    }
    if (!plan.transpose_a) plan.ld_a = plan.m;
    plan.ld_d = plan.m;
  }
  return plan;
}

std::size_t operand_bytes(const MatmulPlan& plan) {
  const auto bytes = [](std::int64_t count, DType dtype) {
    return static_cast<std::size_t>(count) * bytes_of(dtype);
  };
  return bytes(plan.size_of_a() + plan.size_of_b(), plan.input) +
         bytes(plan.size_of_d() * (has_aux(plan.epilogue) ? 2 : 1) + (has_bias(plan.epilogue) ? plan.m : 0),
               plan.output);
}

std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 16;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

namespace {

constexpr std::int64_t kLeastOperations = std::int64_t{1} << 32;
constexpr std::int64_t kLeastOutputsFp32 = std::int64_t{1} << 14, kLeastOutputsBf16 = std::int64_t{1} << 20;

}  // namespace

std::size_t best_of(std::span<const Trial> trials, bool same_bits_as_first) {
  std::size_t best = 0;
  if (same_bits_as_first && !trials[0].ran) return best;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    if (!trials[i].ran || (same_bits_as_first && trials[i].bits != trials[0].bits)) continue;
    if (!trials[best].ran || trials[i].seconds < trials[best].seconds) best = i;
  }
  return best;
}

bool worth_trying(const MatmulPlan& plan) {
  if (plan.output == DType::f64) return false;
  return 2 * plan.m * plan.n * plan.k >= kLeastOperations &&
         plan.size_of_d() >= (plan.output == DType::bf16 ? kLeastOutputsBf16 : kLeastOutputsFp32);
}

}  // namespace tenax::kernels::cuda
