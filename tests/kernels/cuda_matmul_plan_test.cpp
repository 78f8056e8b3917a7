// The GPU's products without a GPU: plans, interpreted as a column-major library would, against the CPU back end; how
// algorithms are chosen; the bodies of the kernels beside them.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "kernels/cuda/matmul_plan.hpp"
#include "tests/kernels/column_major.hpp"
#include "tests/kernels/matmul_values.hpp"
#include "tests/kernels/relative_error.hpp"

namespace tenax::kernels::cuda::test {
namespace {

struct Extents {
  std::int64_t m, n, k;
};
const std::initializer_list<Extents> kExtents = {{1, 1, 1}, {5, 7, 3}, {24, 40, 16}, {13, 8, 70}};

class Cpu {
 public:
  Kernels& kernels() { return device_->kernels(); }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<Device> device_ = create_cpu_device();
  std::unique_ptr<Stream> stream_ = device_->create_stream();
};

void expect_near(const Values& actual, const Values& expected, DType dtype) {
  const double tolerance = dtype == DType::bf16 ? 0.02 : dtype == DType::f32 ? 1e-4 : 1e-9;
  ASSERT_TRUE(kernels::test::are_near(actual, expected, tolerance));
}

using Case = std::tuple<std::pair<DType, DType>, bool, bool, bool, bool>;
class MatmulPlanTest : public testing::TestWithParam<Case> {};

TEST_P(MatmulPlanTest, says_to_a_column_major_library_what_the_arguments_say) {
  const auto [dtypes, transpose_a, transpose_b, with_bias, accumulate] = GetParam();
  Cpu cpu;
  for (const auto& [m, n, k] : kExtents) {
    const Values a(dtypes.first, m * k, 1), b(dtypes.first, k * n, 2), bias(dtypes.first, n, 3);
    Values expected(dtypes.second, m * n, 4), actual = expected;
    MatmulArgs args{.a = a.tensor(transpose_a ? Shape{k, m} : Shape{m, k}),
                    .b = b.tensor(transpose_b ? Shape{n, k} : Shape{k, n}),
                    .c = expected.tensor({m, n}),
                    .transpose_a = transpose_a,
                    .transpose_b = transpose_b,
                    .bias = with_bias ? bias.tensor({n}) : Tensor{},
                    .accumulate = accumulate};
    cpu.kernels().matmul(cpu.stream(), args);
    args.c = actual.tensor({m, n});
    PlannedMatmul planned = plan_of(args);
    if (with_bias && !can_fuse(planned.plan)) {  // then the bias goes ahead, by a kernel of our own
      set_rows_on_host(args.bias, args.c, args.accumulate);
      args.bias = {};
      args.accumulate = true;
      planned = plan_of(args);
    }
    run_column_major(planned.plan, planned.operands);
    expect_near(actual, expected, dtypes.second);
  }
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  const auto [dtypes, transpose_a, transpose_b, with_bias, accumulate] = info.param;
  return std::string(name_of(dtypes.first)) + "_to_" + name_of(dtypes.second) + (transpose_a ? "_at" : "_a") +
         (transpose_b ? "_bt" : "_b") + (with_bias ? "_bias" : "") + (accumulate ? "_add" : "");
}

const auto kTypes = testing::Values(std::pair{DType::f32, DType::f32}, std::pair{DType::bf16, DType::bf16},
                                    std::pair{DType::bf16, DType::f32}, std::pair{DType::f64, DType::f64});
INSTANTIATE_TEST_SUITE_P(, MatmulPlanTest,
                         testing::Combine(kTypes, testing::Bool(), testing::Bool(), testing::Bool(),
                                          testing::Bool()),
                         name_of_case);

TEST(MatmulPlan, keeps_the_sum_with_its_bias_beside_its_gelu) {
  Cpu cpu;
  for (const bool with_bias : {false, true})
    for (const auto& [m, n, k] : kExtents) {
      const Values x(DType::f32, m * k, 1), weight(DType::f32, k * n, 2), bias(DType::f32, n, 3);
      Values pre(DType::f32, m * n, 4), y = pre, expected_pre = pre, expected_y = pre;
      LinearGeluForwardArgs args{x.tensor({m, k}), weight.tensor({k, n}),
                                 with_bias ? bias.tensor({n}) : Tensor{}, expected_pre.tensor({m, n}),
                                 expected_y.tensor({m, n})};
      cpu.kernels().linear_gelu_forward(cpu.stream(), args);
      args.pre = pre.tensor({m, n});
      args.y = y.tensor({m, n});
      const PlannedMatmul planned = plan_of(args);
      EXPECT_EQ(planned.plan.epilogue, with_bias ? Epilogue::bias_gelu : Epilogue::gelu);
      run_column_major(planned.plan, planned.operands);
      expect_near(pre, expected_pre, DType::f32);
      expect_near(y, expected_y, DType::f32);
    }
}

TEST(MatmulPlan, multiplies_the_gradient_with_gelus_slope_even_in_the_memory_of_its_input) {
  Cpu cpu;
  for (const bool in_place : {false, true})
    for (const auto& [rows, in, out] : kExtents) {
      const Values d_y(DType::f32, rows * out, 1), weight(DType::f32, in * out, 2);
      Values pre(DType::f32, rows * in, 3), d_pre(DType::f32, rows * in, 4), expected = d_pre,
                                                                             scratch = d_pre;
      LinearGeluBackwardInputArgs args{d_y.tensor({rows, out}), weight.tensor({in, out}),
                                       pre.tensor({rows, in}), expected.tensor({rows, in}),
                                       scratch.tensor({rows, in})};
      cpu.kernels().linear_gelu_backward_input(cpu.stream(), args);
      args.d_pre = in_place ? args.pre : d_pre.tensor({rows, in});
      const PlannedMatmul planned = plan_of(args, args.d_pre);
      run_column_major(planned.plan, planned.operands);
      expect_near(in_place ? pre : d_pre, expected, DType::f32);
    }
}

TEST(MatmulPlan, is_fused_only_where_cublaslt_can) {
  MatmulPlan plan{.input = DType::bf16, .output = DType::bf16, .ld_d = 64};
  for (const Epilogue epilogue :
       {Epilogue::none, Epilogue::bias, Epilogue::gelu, Epilogue::bias_gelu, Epilogue::d_gelu}) {
    plan.epilogue = epilogue;
    EXPECT_TRUE(can_fuse(plan));
  }
  plan.ld_d = 63;  // GELU's other matrix would have rows that are not 16 bytes apart
  EXPECT_FALSE(can_fuse(plan));
  EXPECT_TRUE(can_fuse({.epilogue = Epilogue::bias, .input = DType::f32, .output = DType::f32, .ld_d = 63}));
  EXPECT_FALSE(
      can_fuse({.epilogue = Epilogue::bias, .input = DType::bf16, .output = DType::f32, .ld_d = 64}));
  EXPECT_FALSE(can_fuse({.epilogue = Epilogue::bias, .input = DType::f64, .output = DType::f64, .ld_d = 64}));
  EXPECT_FALSE(
      can_fuse({.epilogue = Epilogue::bias_gelu, .input = DType::f32, .output = DType::f32, .ld_d = 64}));
}

TEST(MatmulPlan, differs_wherever_an_algorithm_could) {
  const Values values(DType::bf16, 64 * 64, 1);
  const Tensor t = values.tensor({64, 64});
  const MatmulPlan plan = plan_of(MatmulArgs{.a = t, .b = t, .c = t, .bias = {}}).plan;
  EXPECT_EQ(plan_of(MatmulArgs{.a = t, .b = t, .c = t, .bias = {}}).plan, plan);
  EXPECT_NE(plan_of(MatmulArgs{.a = t, .b = t, .c = t, .transpose_a = true, .bias = {}}).plan, plan);
  EXPECT_NE(plan_of(MatmulArgs{.a = t, .b = t, .c = t, .transpose_b = true, .bias = {}}).plan, plan);
  EXPECT_NE(plan_of(MatmulArgs{.a = t, .b = t, .c = t, .bias = {}, .accumulate = true}).plan, plan);
  EXPECT_NE(plan_of(MatmulArgs{.a = t, .b = t, .c = t, .bias = t.part(0, {64})}).plan, plan);
}

TEST(MatmulPlan, is_narrowed_to_the_bytes_allowed_without_changing_what_algorithms_depend_on) {
  const Tensor logits{reinterpret_cast<void*>(256), DType::bf16, {32768, 50257}},
      x{reinterpret_cast<void*>(256), DType::bf16, {32768, 768}},
      wte{reinterpret_cast<void*>(256), DType::bf16, {50257, 768}};
  const std::size_t limit = std::size_t{512} << 20;
  for (const MatmulArgs& args :
       {MatmulArgs{.a = x, .b = wte, .c = logits, .transpose_b = true, .bias = {}},
        MatmulArgs{.a = logits, .b = wte, .c = x, .bias = {}},
        MatmulArgs{.a = logits, .b = x, .c = wte, .transpose_a = true, .bias = {}}}) {
    const MatmulPlan plan = plan_of(args).plan, narrow = narrowed(plan, limit);
    EXPECT_GT(operand_bytes(plan), limit);
    EXPECT_LE(operand_bytes(narrow), limit);
    EXPECT_EQ(narrow.k, plan.k);
    for (const auto extent :
         {&MatmulPlan::m, &MatmulPlan::n, &MatmulPlan::ld_a, &MatmulPlan::ld_b, &MatmulPlan::ld_d})
      EXPECT_EQ(narrow.*extent % 8, plan.*extent % 8);
    EXPECT_EQ(narrow.ld_a, narrow.transpose_a ? narrow.k : narrow.m);
    EXPECT_EQ(narrow.ld_b, narrow.transpose_b ? narrow.n : narrow.k);
    EXPECT_EQ(narrow.ld_d, narrow.m);
    EXPECT_EQ(worth_trying(narrow), worth_trying(plan));
  }
  const MatmulPlan small = plan_of(MatmulArgs{.a = x, .b = x.part(0, {768, 768}), .c = x, .bias = {}}).plan;
  EXPECT_EQ(narrowed(small, limit), small);
}

TEST(MatmulPlan, knows_how_operands_are_aligned) {
  for (const auto& [address, alignment] :
       {std::pair{0, 16}, std::pair{256, 16}, std::pair{24, 8}, std::pair{2, 2}, std::pair{36, 4}})
    EXPECT_EQ(alignment_of(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address))),
              static_cast<std::uint32_t>(alignment));
}

TEST(MatmulTrials, choose_the_fastest_of_those_that_agree_with_the_first) {
  const Trial trials[] = {{true, 7, 3e-3}, {true, 8, 1e-3}, {false, 0, 0}, {true, 7, 2e-3}, {true, 7, 4e-3}};
  EXPECT_EQ(best_of(trials, true), 3u);
  EXPECT_EQ(best_of(trials, false), 1u);
}

TEST(MatmulTrials, keep_the_first_where_nothing_can_be_compared_with_it) {
  const Trial first_failed[] = {{false, 0, 0}, {true, 0, 1e-3}, {true, 0, 2e-3}};
  EXPECT_EQ(best_of(first_failed, true), 0u);
  EXPECT_EQ(best_of(first_failed, false), 1u);
  const Trial none[] = {{false, 0, 0}, {false, 0, 0}};
  EXPECT_EQ(best_of(none, false), 0u);
}

TEST(MatmulTrials, are_for_products_that_take_long_and_show_the_order_of_their_sums) {
  const auto plan = [](DType input, DType output, std::int64_t m, std::int64_t n, std::int64_t k) {
    return MatmulPlan{.input = input, .output = output, .m = m, .n = n, .k = k};
  };
  EXPECT_TRUE(worth_trying(plan(DType::bf16, DType::bf16, 3072, 8192, 768)));
  EXPECT_TRUE(worth_trying(plan(DType::bf16, DType::f32, 768, 768, 32768)));  // a gradient of few tiles
  EXPECT_FALSE(worth_trying(plan(DType::bf16, DType::bf16, 768, 768, 32768)));
  EXPECT_FALSE(worth_trying(plan(DType::bf16, DType::bf16, 2048, 1024, 64)));
  EXPECT_FALSE(worth_trying(plan(DType::f64, DType::f64, 3072, 8192, 768)));
}

TEST(MatmulTrials, run_on_numbers_between_minus_one_and_one_that_hardly_repeat) {
  std::set<float> seen;
  double sum = 0;
  for (std::int64_t i = 0; i < 10000; ++i) {
    const float value = trial_value<float>(1, i);
    EXPECT_TRUE(value >= -1 && value < 1);
    EXPECT_EQ(widen(trial_value<bf16_t>(1, i)), widen(to_bf16(value)));
    sum += value;
    seen.insert(value);
  }
  EXPECT_GT(seen.size(), 9900u);
  EXPECT_LT(std::abs(sum), 300.0);  // five standard deviations
  EXPECT_NE(trial_value<float>(1, 5), trial_value<float>(2, 5));
}

TEST(MatmulTrials, see_a_bit_that_changes_and_words_that_change_places) {
  const std::uint64_t sum = checksum_of(0, 0) + checksum_of(1, 1) + checksum_of(2, 2);
  EXPECT_NE(checksum_of(0, 0) + checksum_of(3, 1) + checksum_of(2, 2), sum);
  EXPECT_NE(checksum_of(1, 0) + checksum_of(0, 1) + checksum_of(2, 2), sum);
  EXPECT_EQ(checksum_of(2, 2) + checksum_of(0, 0) + checksum_of(1, 1), sum);
}

}  // namespace
}  // namespace tenax::kernels::cuda::test
