// Products of a size at which back ends change their ways (pieces, tiles, a search for algorithms), against the CPU in
// fp32, which linear_test.cpp compares with plain loops.
#include <cmath>

#include "tests/kernels/operation_test.hpp"

namespace tenax::kernels::test {
namespace {

// 4.8 GFLOP a product.
constexpr std::int64_t kRows = 1024, kHidden = 768, kFfn = 3072;

// A feed-forward layer, forward and backward, and what it computed.
struct Results {
  Values pre, y, d_pre, d_weight;
};

// From numbers that are exact in bf16, so that all types have the same inputs.
Results run_layer(const std::string& back_end, DType dtype) {
  Workbench bench(back_end);
  const auto random = [&](DType type, const std::string& name, Shape shape) {
    return bench.tensor(type, shape,
                        bench.values(bench.tensor(DType::bf16, shape, normal_values(name, shape.size()))));
  };
  const Tensor x = random(dtype, "x", {kRows, kHidden}), weight = random(dtype, "weight", {kHidden, kFfn});
  const Tensor bias = random(dtype, "bias", {kFfn}), d_y = random(dtype, "d_y", {kRows, kHidden});
  const Tensor back = random(dtype, "back", {kFfn, kHidden}),
               slope_at = random(dtype, "slope", {kRows, kFfn});
  const Tensor pre = bench.poisoned(dtype, {kRows, kFfn}), y = bench.poisoned(dtype, {kRows, kFfn});
  const Tensor scratch = bench.poisoned(dtype, {kRows, kFfn});
  const Tensor d_weight = random(accumulation_of(dtype), "d_weight", {kHidden, kFfn});
  Kernels& kernels = bench.kernels();
  kernels.linear_gelu_forward(bench.stream(), {x, weight, bias, pre, y});
  const Results forward{bench.values(pre), bench.values(y), {}, {}};
  kernels.linear_gelu_backward_input(bench.stream(), {d_y, back, slope_at, slope_at, scratch});
  kernels.linear_backward_weight(bench.stream(), {x, y, d_weight, {}, true});
  return {forward.pre, forward.y, bench.values(slope_at), bench.values(d_weight)};
}

class LargeLinear : public testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  static Results run() { return run_layer(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

TEST_P(LargeLinear, products_agree_with_the_cpus_in_fp32) {
  const double tolerance = std::get<1>(GetParam()) == DType::bf16 ? 1e-2 : 1e-5;
  static const Results expected = run_layer("cpu", DType::f32);
  const Results actual = run();
  expect_near(actual.pre, expected.pre, tolerance);
  expect_near(actual.y, expected.y, tolerance);
  expect_near(actual.d_pre, expected.d_pre, tolerance);
  expect_near(actual.d_weight, expected.d_weight, tolerance);
}

TEST_P(LargeLinear, two_devices_compute_the_same_bits) {
  const Results first = run(), second = run();
  EXPECT_EQ(first.pre, second.pre);
  EXPECT_EQ(first.y, second.y);
  EXPECT_EQ(first.d_pre, second.d_pre);
  EXPECT_EQ(first.d_weight, second.d_weight);
}

INSTANTIATE_TEST_SUITE_P(, LargeLinear,
                         testing::Combine(testing::ValuesIn(back_ends()),
                                          testing::Values(DType::f32, DType::bf16)),
                         name_of_parameters);

}  // namespace
}  // namespace tenax::kernels::test
