// Bodies of CUDA kernels on the host, over tensors of the CPU back end: what they compute is compared with what that
// computes.
#pragma once

#include <cstring>

#include "kernels/cpu/element.hpp"
#include "kernels/cuda/vector16.hpp"
#include "tests/kernels/operation_test.hpp"
#include "tests/kernels/thread_group.hpp"

namespace tenax::kernels::test {

/// Runs for each compute type.
class BodyTest : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  DType accumulation() const { return accumulation_of(dtype()); }
  /// Of results in the accumulation type from the same inputs: a few operations in another order.
  double tolerance() const { return accumulation() == DType::f64 ? 1e-13 : 2e-6; }

  Tensor tensor(Shape shape, const Values& values) { return bench_.tensor(dtype(), shape, values); }
  Tensor output(Shape shape) { return bench_.poisoned(dtype(), shape); }
  Tensor accumulator(Shape shape, const Values& values) {
    return bench_.tensor(accumulation(), shape, values);
  }
  Tensor accumulator(Shape shape) { return bench_.poisoned(accumulation(), shape); }
  Values values(Tensor t) { return bench_.values(t); }
  /// Overwrites what one run left, so that what the next leaves out shows (as 785 in fp32).
  static void spoil(Tensor t) { std::memset(t.data, 0x44, t.bytes()); }
  Kernels& cpu() { return bench_.kernels(); }
  Stream& stream() { return bench_.stream(); }

  Workbench bench_{"cpu"};
};

/// Calls f.template operator()<kCount>() with every width that a kernel may choose for T and these columns.
template <class T, int kMost = cuda::kWidth, class Function>
void for_widths(std::int64_t columns, const Function& f) {
  f.template operator()<1>();
  if constexpr (sizeof(T) <= 4)
    if (columns % kMost == 0) f.template operator()<kMost>();
}

#define TENAX_TEST_BODY(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values(DType::f32, DType::bf16, DType::f64), \
                           [](const auto& parameter) { return name_of(parameter.param); })

}  // namespace tenax::kernels::test
