// Matrix products and the fusions round them, on every back end.
#include <cmath>

#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

// op(a)[m, k] · op(b)[k, n] in plain loops.
Values product(const Values& a, const Values& b, std::int64_t m, std::int64_t n, std::int64_t k,
               bool transpose_a, bool transpose_b) {
  Values c(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j)
        c[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(transpose_a ? l * m + i : i * k + l)] *
            b[static_cast<std::size_t>(transpose_b ? j * k + l : l * n + j)];
  return c;
}

void add_to_rows(Values& c, const Values& bias) {
  for (std::size_t i = 0; i < c.size(); ++i) c[i] += bias[i % bias.size()];
}

struct Extents {
  std::int64_t rows, in, out;
};
// Odd ones, ones of whole 16-byte vectors in bf16, one column, one row.
const std::initializer_list<Extents> kExtents = {
    {5, 7, 3}, {32, 24, 40}, {67, 33, 130}, {9, 16, 1}, {1, 64, 8}};

class Linear : public OperationTest {
 protected:
  Tensor random(const std::string& name, Shape shape) {
    return tensor(shape, normal_values(name, shape.size()));
  }
};

TEST_P(Linear, products_of_every_layout_equal_plain_loops) {
  for (const auto& [m, k, n] : kExtents)
    for (int layout = 0; layout < 16; ++layout) {
      const bool transpose_a = layout & 1, transpose_b = layout & 2, with_bias = layout & 4,
                 accumulate = layout & 8;
      for (const DType output : {dtype(), accumulation()}) {
        const Tensor a = random("a", transpose_a ? Shape{k, m} : Shape{m, k});
        const Tensor b = random("b", transpose_b ? Shape{n, k} : Shape{k, n});
        const Tensor bias = with_bias ? random("bias", {n}) : Tensor{};
        const Tensor c = bench_.tensor(output, {m, n}, normal_values("c", m * n));
        const Values before = values(c);
        kernels().matmul(stream(), {a, b, c, transpose_a, transpose_b, bias, accumulate});
        Values expected = product(values(a), values(b), m, n, k, transpose_a, transpose_b);
        if (with_bias) add_to_rows(expected, values(bias));
        for (std::size_t i = 0; accumulate && i < before.size(); ++i) expected[i] += before[i];
        expect_near(values(c), expected, tolerance_of(output));
      }
    }
}

TEST_P(Linear, products_of_parts_that_are_not_aligned_equal_plain_loops) {
  const std::int64_t m = 24, n = 40, k = 32;
  for (const std::int64_t offset : {1, 2, 4, 8}) {
    const Tensor a = random("a", {offset + m * k}).part(offset, {m, k});
    const Tensor b = random("b", {offset + k * n}).part(offset, {k, n});
    const Tensor bias = random("bias", {offset + n}).part(offset, {n});
    const Tensor c = output({offset + m * n}).part(offset, {m, n});
    kernels().linear_forward(stream(), {.x = a, .weight = b, .bias = bias, .y = c});
    Values expected = product(values(a), values(b), m, n, k, false, false);
    add_to_rows(expected, values(bias));
    expect_near(values(c), expected, tolerance());
  }
}

TEST_P(Linear, gelu_forward_keeps_its_input) {
  for (const auto& [rows, in, out] : kExtents)
    for (const bool with_bias : {true, false}) {
      const Tensor x = random("x", {rows, in}), weight = random("weight", {in, out});
      const Tensor bias = with_bias ? random("bias", {out}) : Tensor{};
      const Tensor pre = output({rows, out}), y = output({rows, out});
      kernels().linear_gelu_forward(stream(), {x, weight, bias, pre, y});
      Values expected = product(values(x), values(weight), rows, out, in, false, false);
      if (with_bias) add_to_rows(expected, values(bias));
      expect_near(values(pre), expected, tolerance());
      for (double& value : expected) value = gelu(value);
      expect_near(values(y), expected, tolerance());
    }
}

TEST_P(Linear, backward_input_is_the_gradient_by_the_input) {
  for (const auto& [rows, in, out] : kExtents) {
    const Tensor d_y = random("d_y", {rows, out}), weight = random("weight", {in, out}),
                 d_x = output({rows, in});
    kernels().linear_backward_input(stream(), {d_y, weight, d_x});
    expect_near(values(d_x), product(values(d_y), values(weight), rows, in, out, false, true), tolerance());
  }
}

TEST_P(Linear, gelu_backward_input_is_the_gradient_by_gelus_input_and_may_overwrite_it) {
  for (const auto& [rows, in, out] : kExtents)
    for (const bool in_place : {false, true}) {
      const Tensor d_y = random("d_y", {rows, out}), weight = random("weight", {in, out});
      const Tensor pre = random("pre", {rows, in}), scratch = output({rows, in});
      const Tensor d_pre = in_place ? pre : output({rows, in});
      Values expected = product(values(d_y), values(weight), rows, in, out, false, true);
      const Values inputs = values(pre);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= gelu_slope(inputs[i]);
      kernels().linear_gelu_backward_input(stream(), {d_y, weight, pre, d_pre, scratch});
      expect_near(values(d_pre), expected, std::max(tolerance(), 1e-9));
      if (!in_place) {
        EXPECT_EQ(values(pre), inputs);
      }
    }
}

TEST_P(Linear, backward_weight_adds_or_overwrites_both_gradients) {
  for (const auto& [rows, in, out] : kExtents)
    for (const bool accumulate : {false, true}) {
      const Tensor x = random("x", {rows, in}), d_y = random("d_y", {rows, out});
      const Tensor d_weight = accumulator({in, out}, normal_values("d_weight", in * out));
      const Tensor d_bias = accumulator({out}, normal_values("d_bias", out));
      Values expected = product(values(x), values(d_y), in, out, rows, true, false);
      Values expected_bias =
          product(Values(static_cast<std::size_t>(rows), 1.0), values(d_y), 1, out, rows, false, false);
      const Values before = values(d_weight), bias_before = values(d_bias);
      for (std::size_t i = 0; accumulate && i < before.size(); ++i) expected[i] += before[i];
      for (std::size_t i = 0; accumulate && i < bias_before.size(); ++i) expected_bias[i] += bias_before[i];
      kernels().linear_backward_weight(stream(), {x, d_y, d_weight, d_bias, accumulate});
      expect_near(values(d_weight), expected, accumulation_tolerance());
      expect_near(values(d_bias), expected_bias, accumulation_tolerance());
    }
}

TEST_P(Linear, of_no_rows_is_nothing) {
  const Tensor x = tensor({0, 6}, {}), weight = random("weight", {6, 4}), y = output({0, 4});
  kernels().linear_forward(stream(), {x, weight, {}, y});
  kernels().linear_gelu_forward(stream(), {x, weight, random("bias", {4}), y, y});
  kernels().linear_backward_input(stream(), {y, weight, x});
}

TENAX_TEST_OPERATION(Linear);

}  // namespace
}  // namespace tenax::kernels::test
