// Matrix products against plain loops in double precision.
#include "kernels/cpu/matmul.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>

#include "tests/kernels/matmul_values.hpp"

namespace tenax::kernels {
namespace {

struct Extents {
  std::int64_t m, n, k;
};

// c as double, and per element the sum of |a·b| that scales the rounding error allowed.
struct Expected {
  std::vector<double> value, magnitude;
};

Expected multiply_plainly(const Extents& e, const Values& a, const Values& b, bool transpose_a,
                          bool transpose_b) {
  Expected expected{std::vector<double>(e.m * e.n), std::vector<double>(e.m * e.n)};
  for (std::int64_t i = 0; i < e.m; ++i)
    for (std::int64_t l = 0; l < e.k; ++l)
      for (std::int64_t j = 0; j < e.n; ++j) {
        const double product =
            a[transpose_a ? l * e.m + i : i * e.k + l] * b[transpose_b ? j * e.k + l : l * e.n + j];
        expected.value[i * e.n + j] += product;
        expected.magnitude[i * e.n + j] += std::abs(product);
      }
  return expected;
}

double epsilon_of(DType dtype) {
  return dtype == DType::f64 ? 0x1p-52 : dtype == DType::f32 ? 0x1p-23 : 0x1p-8;
}

void expect_product(const Extents& e, DType input, DType output, bool transpose_a, bool transpose_b,
                    bool with_bias, bool accumulate) {
  CpuMatmul matmul;
  const Values a(input, e.m * e.k, 1), b(input, e.k * e.n, 2), bias(input, e.n, 3);
  Values c(output, e.m * e.n, 4);
  const Values before = c;
  const auto shape = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return transposed ? Shape{columns, rows} : Shape{rows, columns};
  };
  MatmulArgs args{a.tensor(shape(e.m, e.k, transpose_a)),
                  b.tensor(shape(e.k, e.n, transpose_b)),
                  c.tensor({e.m, e.n}),
                  transpose_a,
                  transpose_b,
                  {},
                  accumulate};
  if (with_bias) args.bias = bias.tensor({e.n});
  matmul.run(args);
  const Expected expected = multiply_plainly(e, a, b, transpose_a, transpose_b);
  const double sum_epsilon = epsilon_of(accumulation_of(input)) * static_cast<double>(e.k + 2);
  for (std::int64_t i = 0; i < e.m * e.n; ++i) {
    const double added = (with_bias ? bias[i % e.n] : 0.0) + (accumulate ? before[i] : 0.0);
    const double value = expected.value[i] + added;
    ASSERT_NEAR(
        c[i], value,
        sum_epsilon * (expected.magnitude[i] + std::abs(added)) + 2 * epsilon_of(output) * std::abs(value))
        << "element " << i << " of [" << e.m << ", " << e.n << "]";
  }
}

using Case = std::tuple<std::pair<DType, DType>, bool, bool, bool, bool>;
class MatmulTest : public ::testing::TestWithParam<Case> {};

TEST_P(MatmulTest, equals_plain_loops_for_odd_and_even_extents) {
  const auto [dtypes, transpose_a, transpose_b, with_bias, accumulate] = GetParam();
  for (const Extents& e : {Extents{1, 1, 1}, Extents{5, 7, 3}, Extents{64, 96, 128}, Extents{130, 67, 201}})
    expect_product(e, dtypes.first, dtypes.second, transpose_a, transpose_b, with_bias, accumulate);
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  const auto [dtypes, transpose_a, transpose_b, with_bias, accumulate] = info.param;
  return std::string(name_of(dtypes.first)) + "_to_" + name_of(dtypes.second) + (transpose_a ? "_at" : "_a") +
         (transpose_b ? "_bt" : "_b") + (with_bias ? "_bias" : "") + (accumulate ? "_add" : "");
}

const auto kTypes = ::testing::Values(std::pair{DType::f32, DType::f32}, std::pair{DType::bf16, DType::bf16},
                                      std::pair{DType::bf16, DType::f32}, std::pair{DType::f64, DType::f64});
INSTANTIATE_TEST_SUITE_P(every_type_and_layout, MatmulTest,
                         ::testing::Combine(kTypes, ::testing::Bool(), ::testing::Bool(), ::testing::Bool(),
                                            ::testing::Bool()),
                         name_of_case);

TEST(Matmul, products_big_enough_to_be_cut_equal_plain_loops) {
  for (const auto& [input, output] : {std::pair{DType::f32, DType::f32}, std::pair{DType::bf16, DType::bf16},
                                      std::pair{DType::bf16, DType::f32}}) {
    expect_product({24, 9000, 40}, input, output, false, true, true, false);   // the head's logits
    expect_product({24, 40, 9000}, input, output, false, false, false, true);  // its input gradient
    expect_product({9000, 40, 24}, input, output, true, false, false, true);   // its weight gradient
    expect_product({700, 1100, 24}, input, output, false, false, true, true);
    expect_product({700, 1100, 24}, input, output, true, false, false, false);
  }
}

TEST(Matmul, works_on_parts_of_wider_matrices_and_leaves_the_rest_alone) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    CpuMatmul matmul;
    const Values a(dtype, 10 * 32, 1), b(dtype, 24 * 32, 2);
    Values c(dtype, 10 * 40, 3);
    const Values before = c;
    matmul.product({a.tensor({10, 32}).data, dtype, 10, 16, 32, false},
                   {b.tensor({24, 32}).data, dtype, 16, 24, 32, true},
                   {c.tensor({10, 40}).data, dtype, 10, 24, 40, false});
    for (std::int64_t i = 0; i < 10; ++i)
      for (std::int64_t j = 0; j < 40; ++j) {
        double expected = 0;
        for (std::int64_t l = 0; l < 16; ++l) expected += a[i * 32 + l] * b[j % 24 * 32 + l];
        if (j >= 24) expected = before[i * 40 + j];
        ASSERT_NEAR(c[i * 40 + j], expected, 4 * epsilon_of(dtype) * 16) << name_of(dtype);
      }
  }
}

// The weight gradients of no rows, of one piece and of several.
TEST(Matmul, adds_nothing_where_the_inner_extent_is_zero) {
  for (const Shape& shape : {Shape{16, 24}, Shape{900, 1700}})
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      const std::int64_t rows = shape[0], columns = shape[1];
      CpuMatmul matmul;
      const Values nothing(dtype, 1, 1);
      Values c(accumulation_of(dtype), rows * columns, 3);
      const Values before = c;
      const auto run = [&](bool accumulate) {
        matmul.run({nothing.tensor({1}).part(0, {0, rows}),
                    nothing.tensor({1}).part(0, {0, columns}),
                    c.tensor(shape),
                    true,
                    false,
                    {},
                    accumulate});
      };
      run(true);
      EXPECT_EQ(c.bytes(), before.bytes()) << name_of(dtype);
      run(false);
      for (std::int64_t i = 0; i < rows * columns; ++i) ASSERT_EQ(c[i], 0.0) << name_of(dtype);
    }
}

TEST(Matmul, gives_the_same_bits_every_time) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Values a(dtype, 300 * 700, 1), b(dtype, 700 * 900, 2);
    Values first(dtype, 300 * 900, 3), second(dtype, 300 * 900, 4);
    CpuMatmul one, other;
    one.run({a.tensor({300, 700}), b.tensor({700, 900}), first.tensor({300, 900}), false, false, {}, false});
    other.run(
        {a.tensor({300, 700}), b.tensor({700, 900}), second.tensor({300, 900}), false, false, {}, false});
    EXPECT_EQ(first.bytes(), second.bytes()) << name_of(dtype);
  }
}

}  // namespace
}  // namespace tenax::kernels
