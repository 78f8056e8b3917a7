#include "comm/collectives/ordered_sum.hpp"

namespace tenax::comm {
namespace {

using kernels::DType;
using kernels::Kernels;
using kernels::Stream;
using kernels::Tensor;

bool needs_wider_sum(DType dtype, ReduceOp op) { return dtype == DType::bf16 && op == ReduceOp::sum; }

void combine(Kernels& kernels, Stream& stream, const Tensor& source, const Tensor& destination, ReduceOp op) {
  if (op == ReduceOp::sum)
    kernels.add(stream, source, destination);
  else
    kernels.maximum(stream, source, destination);
}

void sum_in_fp32(Kernels& kernels, Stream& stream, const std::vector<Tensor>& contributions, int own,
                 kernels::Buffer& scratch) {
  const std::int64_t elements = contributions.front().size();
  const Tensor sum = scratch.tensor(DType::f32, {elements});
  const Tensor wide = scratch.tensor(DType::f32, {elements}, sum.bytes());
  kernels.cast(stream, contributions.front(), sum);
  for (std::size_t source = 1; source < contributions.size(); ++source) {
    kernels.cast(stream, contributions[source], wide);
    kernels.add(stream, wide, sum);
  }
  kernels.cast(stream, sum, contributions[static_cast<std::size_t>(own)]);
}

}  // namespace

std::size_t ordered_sum_scratch_bytes(DType dtype, std::int64_t elements) {
  return dtype == DType::bf16 ? 2 * sizeof(float) * static_cast<std::size_t>(elements) : 0;
}

/// In place and without a copy: what precedes `own` is summed into contribution 0 (a received message), which
/// is added to `own` (addition of two numbers commutes), then comes what follows.
void ordered_reduce(Kernels& kernels, Stream& stream, const std::vector<Tensor>& contributions, int own,
                    ReduceOp op, kernels::Buffer& scratch) {
  if (needs_wider_sum(contributions.front().dtype, op))
    return sum_in_fp32(kernels, stream, contributions, own, scratch);
  const auto mine = static_cast<std::size_t>(own);
  for (std::size_t source = 1; source < mine; ++source)
    combine(kernels, stream, contributions[source], contributions[0], op);
  if (mine > 0) combine(kernels, stream, contributions[0], contributions[mine], op);
  for (std::size_t source = mine + 1; source < contributions.size(); ++source)
    combine(kernels, stream, contributions[source], contributions[mine], op);
}

}  // namespace tenax::comm
