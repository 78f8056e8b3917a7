#include <vector>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

double squares_of(Stream& stream, const Tensor& part) {
  const std::int64_t count = part.size();
  std::vector<double> partial(static_cast<std::size_t>((count + kElementBlock - 1) / kElementBlock));
  double* const sums = partial.data();
  with_type(part.dtype, [&](auto type) {
    const auto* const x = part.as<decltype(type)>();
    for_blocks(stream, count, kElementBlock, [=](std::int64_t begin, std::int64_t end) {
      const auto* const block = x + begin;
      sums[begin / kElementBlock] = sum_of<double>(end - begin, [=](std::int64_t i) {
        const auto value = static_cast<double>(widen(block[i]));
        return value * value;
      });
    });
  });
  double total = 0;
  for (const double sum : partial) total += sum;
  return total;
}

}  // namespace

void CpuKernels::sum_of_squares(Stream& stream, const SumOfSquaresArgs& args) {
  double total = 0;
  for (const Tensor& part : args.parts) total += squares_of(stream, part);
  *args.result = total;
}

}  // namespace tenax::kernels
