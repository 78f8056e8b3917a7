// Products of one row against plain loops, and products by a team against those of one thread.
#include "kernels/cpu/matmul_loops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "kernels/cpu/cpu_loops.hpp"
#include "tests/kernels/matmul_values.hpp"

namespace tenax::kernels {
namespace {

struct Operands {
  Operands(DType type, DType result, std::int64_t rows, std::int64_t inner, std::int64_t columns)
      : m(rows),
        k(inner),
        n(columns),
        a(type, m * k, 1),
        b(type, k * n, 2),
        bias(type, n, 3),
        c(result, m * n, 4) {}
  MatmulArgs args(bool transpose_b, bool has_bias) const {
    return {.a = a.tensor({m, k}),
            .b = transpose_b ? b.tensor({n, k}) : b.tensor({k, n}),
            .c = c.tensor({m, n}),
            .transpose_b = transpose_b,
            .bias = has_bias ? bias.tensor({n}) : Tensor{}};
  }
  double expected(std::int64_t column, bool transpose_b, bool has_bias) const {
    double sum = has_bias ? bias[column] : 0;
    for (std::int64_t i = 0; i < k; ++i) sum += a[i] * b[transpose_b ? column * k + i : i * n + column];
    return sum;
  }
  std::int64_t m, k, n;
  Values a, b, bias, c;
};

// Sizes below, at and beyond what is computed together, of rows and of columns.
TEST(RowProduct, is_the_sum_of_products_whatever_the_team) {
  ThreadTeam one(1), three(3);
  for (const auto& [type, result] :
       {std::pair{DType::f32, DType::f32}, {DType::bf16, DType::bf16}, {DType::bf16, DType::f32}})
    for (const auto& [inner, columns] : {std::pair{1, 1},
                                         {2, 2},
                                         {3, 5},
                                         {4, 128},
                                         {22, 129},
                                         {23, 130},
                                         {200, 700},
                                         {1030, 1100},
                                         {7, 4200},
                                         {10, 8303}})
      for (const bool transpose_b : {false, true})
        for (const bool has_bias : {false, true}) {
          const Operands by_one(type, result, 1, inner, columns), by_three(type, result, 1, inner, columns);
          if (!is_row_product(by_one.args(transpose_b, has_bias))) continue;
          cpu_loops().multiply_row(by_one.args(transpose_b, has_bias), one);
          cpu_loops().multiply_row(by_three.args(transpose_b, has_bias), three);
          for (std::int64_t c = 0; c < columns; ++c) {
            const double expected = by_one.expected(c, transpose_b, has_bias);
            ASSERT_NEAR(by_one.c[c], expected,
                        (result == DType::f32 ? 1e-5 : 8e-3) * (1 + std::abs(expected)))
                << name_of(type) << " " << inner << " x " << columns << ", column " << c;
          }
          EXPECT_EQ(by_three.c.bytes(), by_one.c.bytes());
        }
}

TEST(RowProduct, is_one_of_a_row_that_is_not_added) {
  Operands row(DType::f32, DType::f32, 1, 4, 4), rows(DType::f32, DType::f32, 2, 4, 4),
      exact(DType::f64, DType::f64, 1, 4, 4);
  EXPECT_TRUE(is_row_product(row.args(true, true)));
  EXPECT_FALSE(is_row_product(rows.args(true, true)) || is_row_product(exact.args(false, false)));
  Operands odd(DType::bf16, DType::bf16, 1, 4, 5);
  EXPECT_TRUE(is_row_product(odd.args(true, true)) && !is_row_product(odd.args(false, true)));
  MatmulArgs added = row.args(false, false);
  added.accumulate = true;
  EXPECT_FALSE(is_row_product(added));
}

TEST(TeamProduct, is_that_of_one_thread) {
  ThreadTeam team(3);
  CpuMatmul alone, together(&team);
  for (const DType type : {DType::f32, DType::bf16})
    for (const auto& [rows, inner, columns] :
         {std::tuple{1, 70, 300}, {300, 96, 1100}, {5, 4200, 40}, {130, 64, 4200}})
      for (const bool transpose_b : {false, true}) {
        const Operands expected(type, type, rows, inner, columns), actual(type, type, rows, inner, columns);
        alone.run(expected.args(transpose_b, !transpose_b));
        together.run(actual.args(transpose_b, !transpose_b));
        EXPECT_EQ(actual.c.bytes(), expected.c.bytes())
            << name_of(type) << " " << rows << " x " << inner << " x " << columns;
      }
}

}  // namespace
}  // namespace tenax::kernels
