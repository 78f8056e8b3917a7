#include <cmath>

#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

class Elementwise : public OperationTest {};

TEST_P(Elementwise, zero_clears_exactly_its_tensor) {
  const Tensor whole = tensor({1003}, normal_values("x", 1003));
  Values expected = values(whole);
  std::fill(expected.begin() + 3, expected.begin() + 1000, 0.0);
  kernels().zero(stream(), whole.part(3, {997}));
  EXPECT_EQ(values(whole), expected);
}

TEST_P(Elementwise, copy_reproduces_every_bit) {
  const Tensor source = tensor({17, 61}, normal_values("x", 17 * 61)), destination = output({17, 61});
  kernels().copy(stream(), source, destination);
  EXPECT_EQ(values(destination), values(source));
}

TEST_P(Elementwise, cast_to_each_type_rounds_to_nearest) {
  const Tensor source = tensor({10007}, normal_values("x", 10007, 0.0, 100.0));
  for (const DType type : {DType::f32, DType::bf16, DType::f64}) {
    const Tensor destination = bench_.poisoned(type, {10007});
    kernels().cast(stream(), source, destination);
    EXPECT_EQ(values(destination), values(bench_.tensor(type, {10007}, values(source)))) << name_of(type);
  }
}

TEST_P(Elementwise, add_adds_to_the_destination) {
  const Tensor source = tensor({1009}, normal_values("a", 1009)),
               destination = tensor({1009}, normal_values("b", 1009));
  Values expected = values(destination);
  const Values added = values(source);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += added[i];
  kernels().add(stream(), source, destination);
  expect_near(values(destination), expected, tolerance());
}

TEST_P(Elementwise, maximum_keeps_the_larger) {
  const Tensor source = tensor({1009}, normal_values("a", 1009)),
               destination = tensor({1009}, normal_values("b", 1009));
  Values expected = values(destination);
  const Values other = values(source);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = std::max(expected[i], other[i]);
  kernels().maximum(stream(), source, destination);
  EXPECT_EQ(values(destination), expected);
}

TEST_P(Elementwise, residual_add_adds_delta_and_bias) {
  const Tensor x = tensor({2, 35, 67}, normal_values("x", 4690)),
               delta = tensor({2, 35, 67}, normal_values("d", 4690));
  const Tensor bias = tensor({67}, normal_values("bias", 67)), out = output({2, 35, 67});
  kernels().residual_add(stream(), {.x = x, .delta = delta, .bias = bias, .out = out});
  Values expected = values(x);
  const Values deltas = values(delta), biases = values(bias);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += deltas[i] + biases[i % 67];
  expect_near(values(out), expected, tolerance());
}

TEST_P(Elementwise, residual_add_may_overwrite_either_term) {
  const auto x = [&] { return tensor({5, 33}, normal_values("x", 165)); };
  const auto delta = [&] { return tensor({5, 33}, normal_values("delta", 165)); };
  const Tensor bias = tensor({33}, normal_values("bias", 33)), out = output({5, 33}), x2 = x(),
               delta2 = delta();
  kernels().residual_add(stream(), {.x = x(), .delta = delta(), .bias = bias, .out = out});
  kernels().residual_add(stream(), {.x = x2, .delta = delta(), .bias = bias, .out = x2});
  kernels().residual_add(stream(), {.x = x(), .delta = delta2, .bias = bias, .out = delta2});
  EXPECT_EQ(values(x2), values(out));
  EXPECT_EQ(values(delta2), values(out));
}

TEST_P(Elementwise, a_chunk_sum_rounds_where_it_is_told) {
  if (dtype() == DType::bf16) return;
  const auto bf16 = [](double value) {
    return static_cast<double>(widen(to_bf16(static_cast<float>(value))));
  };
  const Tensor own = tensor({1009}, normal_values("a", 1009)),
               incoming = tensor({1009}, normal_values("b", 1009));
  const bool is_fp32 = dtype() == DType::f32;
  for (const bool before : {false, is_fp32})
    for (const bool after : {false, is_fp32}) {
      const Tensor result = output({1009});
      kernels().chunk_sum(stream(), {.own = own,
                                     .incoming = incoming,
                                     .result = result,
                                     .rounds_incoming = before,
                                     .rounds_result = after});
      const Values a = values(own), b = values(incoming);
      Values expected(a.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double sum = a[i] + (before ? bf16(b[i]) : b[i]);
        expected[i] = after ? bf16(is_fp32 ? static_cast<float>(sum) : sum) : sum;
      }
      expect_near(values(result), expected, tolerance());
    }
}

TEST_P(Elementwise, empty_tensors_are_legal) {
  const Tensor a = tensor({0}, {}), b = output({0});
  kernels().zero(stream(), a);
  kernels().copy(stream(), a, b);
  kernels().cast(stream(), a, b);
  kernels().add(stream(), a, b);
  kernels().maximum(stream(), a, b);
}

TENAX_TEST_OPERATION(Elementwise);

class Bf16Rounding : public testing::TestWithParam<std::string> {};

TEST_P(Bf16Rounding, is_to_nearest_even_for_every_sign_and_exponent) {
  Values inputs;
  for (const double sign : {1.0, -1.0})
    for (int exponent = -120; exponent <= 127; ++exponent)
      for (const int mantissa : {0, 1, 2, 3, 126, 127})           // of bf16
        for (const double rest : {0.0, 0.25, 0.5, 0.75, 0.4999})  // of the distance to the next one
          inputs.push_back(sign * std::ldexp(1 + (mantissa + rest) / 128, exponent));
  Workbench bench(GetParam());
  const auto count = static_cast<std::int64_t>(inputs.size());
  const Tensor source = bench.tensor(DType::f32, {count}, inputs);
  const Tensor destination = bench.poisoned(DType::bf16, {count});
  bench.kernels().cast(bench.stream(), source, destination);
  const Values exact = bench.values(source), actual = bench.values(destination);
  const Values expected = bench.values(bench.tensor(DType::bf16, {count}, exact));
  EXPECT_EQ(actual, expected);
}

TEST_P(Bf16Rounding, keeps_infinities_and_every_not_a_number) {
  Workbench bench(GetParam());
  const double infinity = std::numeric_limits<double>::infinity();
  const auto payload = static_cast<double>(std::bit_cast<float>(0x7fffffffu));
  const Tensor source = bench.tensor(DType::f32, {5}, {infinity, -infinity, std::nan(""), payload, -payload});
  const Tensor destination = bench.poisoned(DType::bf16, {5});
  bench.kernels().cast(bench.stream(), source, destination);
  const Values actual = bench.values(destination);
  EXPECT_EQ(actual[0], infinity);
  EXPECT_EQ(actual[1], -infinity);
  for (std::size_t i = 2; i < 5; ++i) EXPECT_TRUE(std::isnan(actual[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(, Bf16Rounding, testing::ValuesIn(back_ends()));

}  // namespace
}  // namespace tenax::kernels::test
