#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

Values column_sums(const Values& x, std::size_t columns) {
  Values sums(columns);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % columns] += x[i];
  return sums;
}

class BiasGradient : public OperationTest {};

TEST_P(BiasGradient, sums_each_column) {
  for (const std::int64_t columns : {1, 5, 511, 1027}) {
    const Tensor d_y = tensor({103, columns}, normal_values("d_y", 103 * columns)),
                 d_bias = accumulator({columns});
    kernels().bias_gradient(stream(), {.d_y = d_y, .d_bias = d_bias, .accumulate = false});
    expect_near(values(d_bias), column_sums(values(d_y), static_cast<std::size_t>(columns)),
                accumulation_tolerance());
  }
}

TEST_P(BiasGradient, adds_to_what_is_there_when_asked) {
  const Tensor d_y = tensor({2, 3, 4}, normal_values("d_y", 24)), d_bias = accumulator({4}, {1, 2, 3, 4});
  kernels().bias_gradient(stream(), {.d_y = d_y, .d_bias = d_bias, .accumulate = true});
  Values expected = column_sums(values(d_y), 4);
  for (std::size_t i = 0; i < 4; ++i) expected[i] += static_cast<double>(i + 1);
  expect_near(values(d_bias), expected, accumulation_tolerance());
}

TEST_P(BiasGradient, keeps_its_accuracy_over_many_rows) {
  const std::int64_t rows = 20000;
  const Tensor d_y = tensor({rows, 3}, normal_values("d_y", rows * 3, 1.0, 0.1)), d_bias = accumulator({3});
  kernels().bias_gradient(stream(), {.d_y = d_y, .d_bias = d_bias, .accumulate = false});
  // One running fp32 sum would be off by several 1e-6 here.
  expect_near(values(d_bias), column_sums(values(d_y), 3), dtype() == DType::f64 ? 1e-12 : 1e-6);
}

TEST_P(BiasGradient, of_no_rows_is_zero) {
  const Tensor d_y = tensor({0, 3}, {}), d_bias = accumulator({3});
  kernels().bias_gradient(stream(), {.d_y = d_y, .d_bias = d_bias, .accumulate = false});
  EXPECT_EQ(values(d_bias), Values(3, 0.0));
}

TENAX_TEST_OPERATION(BiasGradient);

}  // namespace
}  // namespace tenax::kernels::test
