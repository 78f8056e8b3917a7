// CudaMatmul on machines that have the toolkit and no GPU: against a cuBLASLt that runs products on the host as the
// descriptors say, so that descriptors, the search and every way round a missing fusion are checked.
#include "kernels/cuda/matmul.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "kernels/cuda/matmul_search.hpp"
#include "kernels/cuda/trial_memory.hpp"
#include "kernels/error.hpp"
#include "tests/kernels/fake_cublaslt.hpp"
#include "tests/kernels/matmul_values.hpp"
#include "tests/kernels/relative_error.hpp"

namespace tenax::kernels::cuda::test {
namespace {

class CudaMatmulTest : public testing::Test {
 protected:
  CudaMatmulTest() { library() = {}; }
  static FakeLibrary& library() { return FakeLibrary::instance(); }

  Kernels& cpu() { return cpu_->kernels(); }
  Stream& cpu_stream() { return *cpu_stream_; }
  void run(const MatmulArgs& args) { matmul_.matmul(nullptr, args, workspace_); }

  Choices choices_{true};
  CudaMatmul matmul_{choices_};
  Workspace workspace_{nullptr, nullptr};

 private:
  std::unique_ptr<Device> cpu_ = create_cpu_device();
  std::unique_ptr<Stream> cpu_stream_ = cpu_->create_stream();
};

void expect_near(const Values& actual, const Values& expected, DType dtype) {
  const double tolerance = dtype == DType::bf16 ? 0.02 : dtype == DType::f32 ? 1e-4 : 1e-9;
  ASSERT_TRUE(kernels::test::are_near(actual, expected, tolerance));
}

TEST_F(CudaMatmulTest, products_of_every_type_and_layout_are_the_cpus) {
  const std::int64_t m = 13, n = 24, k = 10;
  for (const bool has_epilogues : {true, false})
    for (const auto& [input, output] :
         {std::pair{DType::f32, DType::f32}, std::pair{DType::bf16, DType::bf16},
          std::pair{DType::bf16, DType::f32}, std::pair{DType::f64, DType::f64}})
      for (int layout = 0; layout < 16; ++layout) {
        library().has_epilogues = has_epilogues;
        Choices choices(true);
        CudaMatmul matmul(choices);
        const Values a(input, m * k, 1), b(input, k * n, 2), bias(input, n, 3);
        Values expected(output, m * n, 4), actual = expected;
        MatmulArgs args{.a = a.tensor(layout & 1 ? Shape{k, m} : Shape{m, k}),
                        .b = b.tensor(layout & 2 ? Shape{n, k} : Shape{k, n}),
                        .c = expected.tensor({m, n}),
                        .transpose_a = (layout & 1) != 0,
                        .transpose_b = (layout & 2) != 0,
                        .bias = layout & 4 ? bias.tensor({n}) : Tensor{},
                        .accumulate = (layout & 8) != 0};
        cpu().matmul(cpu_stream(), args);
        args.c = actual.tensor({m, n});
        matmul.matmul(nullptr, args, workspace_);
        expect_near(actual, expected, output);
      }
}

TEST_F(CudaMatmulTest, of_nothing_sums_up_to_the_bias_or_to_zero) {
  const Values none(DType::f32, 1, 1), bias(DType::f32, 4, 2), before(DType::f32, 12, 3);
  Values c = before;
  MatmulArgs args{none.tensor({3, 0}), none.tensor({0, 4}), c.tensor({3, 4}), false, false, {}, true};
  run(args);
  EXPECT_EQ(c.bytes(), before.bytes());
  args.accumulate = false;
  args.bias = bias.tensor({4});
  run(args);
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(c[i], bias[i % 4]);
  args.bias = {};
  run(args);
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(c[i], 0.0);
  EXPECT_EQ(library().products, 0);
}

TEST_F(CudaMatmulTest, fuses_gelu_into_bf16_products_and_into_no_others) {
  const std::int64_t rows = 6, in = 8, out = 16;
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    const Values x(dtype, rows * in, 1), weight(dtype, in * out, 2), bias(dtype, out, 3);
    Values pre(dtype, rows * out, 4), y = pre, expected_pre = pre, expected_y = pre;
    LinearGeluForwardArgs args{x.tensor({rows, in}), weight.tensor({in, out}), bias.tensor({out}),
                               expected_pre.tensor({rows, out}), expected_y.tensor({rows, out})};
    cpu().linear_gelu_forward(cpu_stream(), args);
    args.pre = pre.tensor({rows, out});
    args.y = y.tensor({rows, out});
    ASSERT_EQ(matmul_.linear_gelu_forward(nullptr, args, workspace_), dtype == DType::bf16);
    if (dtype != DType::bf16) continue;
    expect_near(pre, expected_pre, dtype);
    expect_near(y, expected_y, dtype);
  }
}

TEST_F(CudaMatmulTest, leaves_gelu_to_the_caller_where_cublaslt_has_no_such_product) {
  library().has_epilogues = false;
  const Values x(DType::bf16, 64, 1);
  Values y(DType::bf16, 64, 2);
  const Values before = y;
  const Tensor in = x.tensor({8, 8}), out = y.tensor({8, 8});
  EXPECT_FALSE(
      matmul_.linear_gelu_forward(nullptr, {in, in, x.tensor({64}).part(0, {8}), out, out}, workspace_));
  EXPECT_FALSE(matmul_.linear_gelu_backward_input(nullptr, {in, in, in, out, out}, workspace_));
  EXPECT_EQ(y.bytes(), before.bytes());
}

TEST_F(CudaMatmulTest, overwrites_gelus_input_with_its_gradient_even_if_the_algorithm_could_not) {
  const std::int64_t rows = 6, in = 16, out = 8;
  library().algorithms = {{.reads_aux_after_writing = true}};
  const Values d_y(DType::bf16, rows * out, 1), weight(DType::bf16, in * out, 2);
  Values pre(DType::bf16, rows * in, 3), expected = pre, scratch = pre;
  LinearGeluBackwardInputArgs args{d_y.tensor({rows, out}), weight.tensor({in, out}), pre.tensor({rows, in}),
                                   expected.tensor({rows, in}), scratch.tensor({rows, in})};
  cpu().linear_gelu_backward_input(cpu_stream(), args);
  args.d_pre = args.pre;
  EXPECT_TRUE(matmul_.linear_gelu_backward_input(nullptr, args, workspace_));
  expect_near(pre, expected, DType::bf16);
}

TEST_F(CudaMatmulTest, says_which_product_has_no_algorithm) {
  library().algorithms = {};
  const Values x(DType::f32, 64, 1);
  try {
    run({x.tensor({4, 6}), x.tensor({6, 2}), x.tensor({4, 2}), false, false, {}, false});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::rank);
    EXPECT_NE(std::string(error.what()).find("fp32 product [4, 6] x [6, 2]"), std::string::npos)
        << error.what();
  }
}

// Products that are worth trying algorithms out for. Their values are never looked at.
class CudaMatmulSearch : public CudaMatmulTest {
 protected:
  static constexpr std::int64_t kRows = 256, kInner = 2048, kColumns = 4096;

  /// The algorithm that a product gets, and how many were tried.
  int algorithm_of(CudaMatmul& matmul) {
    matmul.matmul(nullptr,
                  {x_.tensor({kRows, kInner}),
                   weight_.tensor({kInner, kColumns}),
                   y_.tensor({kRows, kColumns}),
                   false,
                   false,
                   {},
                   false},
                  workspace_);
    return library().last_algorithm;
  }

  Values x_{DType::bf16, kRows*kInner, 1}, weight_{DType::bf16, kInner*kColumns, 2},
      y_{DType::bf16, kRows*kColumns, 3};
};

TEST_F(CudaMatmulSearch, takes_the_fastest_algorithm_that_writes_the_bits_of_the_first) {
  library().algorithms = {{.seconds = 3e-3}, {.seconds = 1e-3, .sums_backwards = true}, {.seconds = 2e-3}};
  EXPECT_EQ(algorithm_of(matmul_), 2);
  EXPECT_EQ(library().pool_bytes, 0);
}

TEST_F(CudaMatmulSearch, takes_the_fastest_of_all_where_runs_may_differ) {
  library().algorithms = {{.seconds = 3e-3}, {.seconds = 1e-3, .sums_backwards = true}, {.seconds = 2e-3}};
  Choices free(false);
  CudaMatmul matmul(free);
  EXPECT_EQ(algorithm_of(matmul), 1);
}

TEST_F(CudaMatmulSearch, happens_once_for_a_shape) {
  library().algorithms = {{.seconds = 3e-3}, {.seconds = 2e-3}};
  algorithm_of(matmul_);
  const int products = library().products;
  EXPECT_GT(products, 2);
  EXPECT_EQ(algorithm_of(matmul_), 1);
  EXPECT_EQ(library().products, products + 1);
}

TEST_F(CudaMatmulSearch, does_not_happen_during_a_capture_nor_without_memory) {
  library().algorithms = {{.seconds = 3e-3}, {.seconds = 2e-3}};
  library().captures = true;
  EXPECT_EQ(algorithm_of(matmul_), 0);
  EXPECT_EQ(library().products, 1);
  library().captures = false;
  EXPECT_EQ(algorithm_of(matmul_), 1);  // what was chosen in the capture was not kept
  library().has_memory = false;
  Choices none(true);
  CudaMatmul other(none);
  EXPECT_EQ(algorithm_of(other), 0);
}

// Virtual GPUs without unified memory: a run settles there too.
TEST_F(CudaMatmulSearch, does_not_happen_on_a_device_without_memory_pools_and_nothing_is_trimmed) {
  library().algorithms = {{.seconds = 3e-3}, {.seconds = 2e-3}};
  library().has_pool = false;
  EXPECT_EQ(algorithm_of(matmul_), 0);
  EXPECT_EQ(TrialMemory(nullptr, 8).data(), nullptr);
  EXPECT_NO_THROW(trim_trial_memory());
}

// Of 1.5B, micro-batches of 32: 32768 rows, 524 MB.
TEST_F(CudaMatmulSearch, tries_the_product_that_is_to_run_before_a_narrower_one) {
  library().has_memory = false;
  const MatmulPlan gradient{.input = DType::bf16,
                            .output = DType::f32,
                            .m = 6400,
                            .n = 1600,
                            .k = 32768,
                            .transpose_b = true,
                            .accumulate = true,
                            .ld_a = 6400,
                            .ld_b = 1600,
                            .ld_d = 6400};
  const std::vector<cublasLtMatmulHeuristicResult_t> proposals(1);
  choose_by_trials(nullptr, gradient, proposals, true);
  ASSERT_EQ(library().asked_bytes.size(), 2u);
  EXPECT_GE(library().asked_bytes[0], operand_bytes(gradient));
  EXPECT_LT(library().asked_bytes[1], operand_bytes(gradient));
}

TEST_F(CudaMatmulSearch, takes_what_an_earlier_run_chose_and_tries_nothing) {
  library().algorithms = {{.seconds = 3e-3}, {.seconds = 2e-3}};
  EXPECT_EQ(algorithm_of(matmul_), 1);
  library().algorithms = {{.seconds = 1e-3}, {.seconds = 2e-3}};  // another day
  const int products = library().products;
  Choices same(true);
  same.take(choices_.text());
  CudaMatmul later(same);
  EXPECT_EQ(algorithm_of(later), 1);
  EXPECT_EQ(library().products, products + 1);
  EXPECT_EQ(same.text(), choices_.text());
  EXPECT_TRUE(same.notes().empty());
}

TEST_F(CudaMatmulSearch, says_what_of_an_earlier_run_works_no_more_and_chooses_anew) {
  library().algorithms = {{.seconds = 3e-3}, {.seconds = 2e-3}};
  algorithm_of(matmul_);
  library().admits = false;
  Choices same(true);
  same.take(choices_.text());
  CudaMatmul later(same);
  EXPECT_EQ(algorithm_of(later), 0) << "nothing could be tried either";
  ASSERT_EQ(same.notes().size(), 1u);
  EXPECT_TRUE(same.notes().front().starts_with("1 algorithm of the earlier run")) << same.notes().front();
}

TEST_F(CudaMatmulSearch, does_not_happen_once_choices_are_settled) {
  library().algorithms = {{.seconds = 3e-3}, {.seconds = 2e-3}};
  choices_.settle();
  EXPECT_EQ(algorithm_of(matmul_), 0);
  EXPECT_EQ(library().products, 1);
}

TEST_F(CudaMatmulSearch, plans_for_the_multiprocessors_that_are_not_lent) {
  choices_.set_multiprocessors(132);
  algorithm_of(matmul_);
  EXPECT_EQ(library().multiprocessors, 0) << "all";
  choices_.lend_multiprocessors(16);
  algorithm_of(matmul_);
  EXPECT_EQ(library().multiprocessors, 116);
  EXPECT_NE(choices_.text().find(text_of_multiprocessors(116) + " | "), std::string::npos) << choices_.text();
  choices_.settle();
  choices_.lend_multiprocessors(-8);  // a link that was given up changes no bits
  algorithm_of(matmul_);
  EXPECT_EQ(library().multiprocessors, 116);
}

TEST_F(CudaMatmulSearch, finds_out_whether_gelus_gradient_may_overwrite_its_input) {
  for (const bool reads_late : {false, true}) {
    library() = {};
    library().algorithms = {{.reads_aux_after_writing = reads_late}};
    Choices choices(true);
    CudaMatmul matmul(choices);
    const Tensor pre = y_.tensor({kRows, kColumns});
    Values scratch(DType::bf16, kRows * kColumns, 5);
    const Values untouched = scratch;
    EXPECT_TRUE(
        matmul.linear_gelu_backward_input(nullptr,
                                          {x_.tensor({kRows, kInner}), weight_.tensor({kColumns, kInner}),
                                           pre, pre, scratch.tensor({kRows, kColumns})},
                                          workspace_));
    EXPECT_EQ(scratch.bytes() == untouched.bytes(), !reads_late);
  }
}

}  // namespace
}  // namespace tenax::kernels::cuda::test
