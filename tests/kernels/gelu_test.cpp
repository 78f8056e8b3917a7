#include <cmath>

#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

Values gelu_of_each(const Values& x) {
  Values y;
  for (const double value : x) y.push_back(gelu(value));
  return y;
}

// Normal numbers, and the ends where the exponential inside overflows or vanishes.
Values inputs(std::int64_t count) {
  Values x = normal_values("x", count, 0.0, 2.0);
  const Values ends{0.0, -0.0, 1e-20, -1e-20, 5.0, -5.0, 11.0, -11.0, 60.0, -60.0, 1e4, -1e4};
  std::copy(ends.begin(), ends.end(), x.begin());
  return x;
}

class Gelu : public OperationTest {};

TEST_P(Gelu, forward_is_the_tanh_approximation) {
  const Tensor x = tensor({37, 29}, inputs(37 * 29)), y = output({37, 29});
  kernels().gelu_forward(stream(), {.x = x, .y = y});
  expect_near(values(y), gelu_of_each(values(x)), tolerance());
}

TEST_P(Gelu, small_results_keep_their_relative_accuracy) {
  const Tensor x = tensor({3}, {-4.0, -3.0, 1e-3}), y = output({3});
  kernels().gelu_forward(stream(), {.x = x, .y = y});
  const Values expected = gelu_of_each(values(x)), actual = values(y);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(actual[i] / expected[i], 1.0, dtype() == DType::f64 ? 1e-9 : tolerance());
}

TEST_P(Gelu, backward_is_the_gradient_of_forward) {
  const Tensor x = tensor({23, 31}, inputs(23 * 31)), d_y = tensor({23, 31}, normal_values("d_y", 23 * 31));
  const Tensor d_x = output({23, 31});
  kernels().gelu_backward(stream(), {.x = x, .d_y = d_y, .d_x = d_x});
  const Values inputs = values(x), d_outputs = values(d_y);
  Values expected;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    expected.push_back(
        numerical_gradient([&](const Values& v) { return d_outputs[i] * gelu(v[0]); }, {inputs[i]})[0]);
  expect_near(values(d_x), expected,
              std::max(tolerance(), 1e-6));  // 1e-6: what the differences resolve at 1e4
}

TEST_P(Gelu, backward_may_overwrite_either_input) {
  const Values x_values = inputs(1000), d_y_values = normal_values("d_y", 1000);
  const Tensor x = tensor({1000}, x_values), d_y = tensor({1000}, d_y_values), d_x = output({1000});
  kernels().gelu_backward(stream(), {.x = x, .d_y = d_y, .d_x = d_x});
  const Tensor x2 = tensor({1000}, x_values), d_y2 = tensor({1000}, d_y_values);
  kernels().gelu_backward(stream(), {.x = x2, .d_y = d_y, .d_x = x2});
  kernels().gelu_backward(stream(), {.x = x, .d_y = d_y2, .d_x = d_y2});
  EXPECT_EQ(values(x2), values(d_x));
  EXPECT_EQ(values(d_y2), values(d_x));
}

TEST_P(Gelu, passes_on_what_is_not_a_number) {
  const Tensor x = tensor({2}, {std::nan(""), 1.0}), d_y = tensor({2}, {1.0, std::nan("")});
  const Tensor y = output({2}), d_x = output({2});
  kernels().gelu_forward(stream(), {.x = x, .y = y});
  kernels().gelu_backward(stream(), {.x = x, .d_y = d_y, .d_x = d_x});
  EXPECT_TRUE(std::isnan(values(y)[0]));
  EXPECT_TRUE(std::isnan(values(d_x)[0]) && std::isnan(values(d_x)[1]));
}

TEST_P(Gelu, of_nothing_is_nothing) {
  const Tensor x = tensor({0, 5}, {}), y = output({0, 5});
  kernels().gelu_forward(stream(), {.x = x, .y = y});
  kernels().gelu_backward(stream(), {.x = x, .d_y = y, .d_x = y});
}

TENAX_TEST_OPERATION(Gelu);

}  // namespace
}  // namespace tenax::kernels::test
