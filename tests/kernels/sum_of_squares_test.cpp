#include <cmath>
#include <limits>

#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

class SumOfSquares : public OperationTest {
 protected:
  double sum_of(Tensor x) { return sum_of(std::span<const Tensor>(&x, 1)); }
  double sum_of(std::span<const Tensor> parts) {
    const auto pinned = bench_.device().allocate(sizeof(double), MemoryKind::pinned_host);
    auto* const result = static_cast<double*>(pinned->data());
    *result = -1;
    kernels().sum_of_squares(stream(), {.parts = parts, .result = result});
    stream().synchronize(Deadline::after_s(60));
    return *result;
  }
};

TEST_P(SumOfSquares, is_summed_in_double_precision) {
  for (const std::int64_t count : {0, 1, 2, 3, 1000, 8191, 8192, 100003}) {
    const Tensor x = tensor({count}, normal_values("x", count, 3.0, 1.0));
    const Values exact = values(x);
    EXPECT_NEAR(sum_of(x), dot(exact, exact), 1e-13 * dot(exact, exact)) << count;
  }
}

TEST_P(SumOfSquares, is_of_all_parts_wherever_they_lie) {
  const Tensor x = tensor({40000}, normal_values("x", 40000, 3.0, 1.0));
  const Tensor y = tensor({17}, normal_values("y", 17)), empty = x.part(5, {0});
  std::vector<Tensor> parts{x.part(0, {10001}), x.part(10001, {20000}), empty, x.part(30016, {7}), y};
  for (int i = 0; i < 300; ++i) parts.push_back(x.part(31000 + 17 * i, {1 + i % 17}));
  double expected = 0;
  for (const Tensor& part : parts)
    if (part.size() > 0) expected += dot(values(part), values(part));
  EXPECT_NEAR(sum_of(parts), expected, 1e-13 * expected);
  EXPECT_EQ(sum_of(std::span<const Tensor>{}), 0);
}

TEST_P(SumOfSquares, does_not_overflow_the_range_of_fp32) {
  const Tensor x = tensor({3}, {1e25, 1e25, 1e25});
  EXPECT_NEAR(sum_of(x) / 3e50, 1.0, tolerance());
}

TEST_P(SumOfSquares, shows_a_non_finite_element_wherever_it_is) {
  for (const double bad :
       {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()})
    for (const std::size_t place : {0, 1, 31, 8191, 8192, 9998, 9999}) {
      Values x = normal_values("x", 10000);
      x[place] = bad;
      EXPECT_FALSE(std::isfinite(sum_of(tensor({10000}, x)))) << bad << " at " << place;
    }
}

TENAX_TEST_OPERATION(SumOfSquares);

}  // namespace
}  // namespace tenax::kernels::test
