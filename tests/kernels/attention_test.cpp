// Causal attention against plain loops, and its gradient against finite differences. TENAX_LOOPS_UNDER_TEST is the function of the
// set of loops that computes, TENAX_LOOPS_NEEDED one that has its instructions.
#include "kernels/cpu/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/device.hpp"
#include "tests/kernels/matmul_values.hpp"
#include "tests/kernels/relative_error.hpp"

namespace tenax::kernels {

const CpuLoops& TENAX_LOOPS_UNDER_TEST();

namespace {

struct Size {
  std::int64_t sequences, length;
  int heads;
  std::int64_t head_size;
  std::int64_t hidden() const { return heads * head_size; }
  std::int64_t rows() const { return sequences * length; }
};

// One head as doubles: element (row, column) of q, k, v, or of tensors without these parts.
struct Head {
  const Size& size;
  std::int64_t sequence;
  int head;
  std::int64_t at(std::int64_t row, std::int64_t column, int part, int parts) const {
    return ((sequence * size.length + row) * parts + part) * size.hidden() + head * size.head_size + column;
  }
};

class Attention : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const CpuLoopsChoice& set : built_loops())
      if (set.name == std::string(TENAX_LOOPS_NEEDED) && !set.runs_here)
        GTEST_SKIP() << "this processor has not the instructions of " << set.name;
    attention_ = TENAX_LOOPS_UNDER_TEST().create_attention(team_);
  }

  std::unique_ptr<Device> device_ = create_cpu_device();  // starts Kokkos
  ThreadTeam team_{1};
  std::unique_ptr<CpuAttention> attention_;

  void forward(const Size& size, const Values& qkv, Values& out, Values& log_sum_exp) {
    attention_->forward({qkv.tensor({size.sequences, size.length, 3 * size.hidden()}),
                         out.tensor({size.sequences, size.length, size.hidden()}),
                         log_sum_exp.tensor({size.sequences, size.heads, size.length}), size.heads});
  }
  void backward(const Size& size, const Values& qkv, const Values& out, const Values& d_out,
                const Values& log_sum_exp, Values& d_qkv) {
    const Shape wide{size.sequences, size.length, 3 * size.hidden()},
        narrow{size.sequences, size.length, size.hidden()};
    attention_->backward({qkv.tensor(wide), out.tensor(narrow), d_out.tensor(narrow),
                          log_sum_exp.tensor({size.sequences, size.heads, size.length}), d_qkv.tensor(wide),
                          size.heads});
  }
};

struct Softmax {
  std::vector<double> weights;
  double log_sum_exp;
};

Softmax plain_softmax(const Head& h, const Values& qkv, std::int64_t row) {
  Softmax result{std::vector<double>(row + 1), 0};
  double sum = 0;
  for (std::int64_t j = 0; j <= row; ++j) {
    double score = 0;
    for (std::int64_t c = 0; c < h.size.head_size; ++c)
      score += qkv[h.at(row, c, 0, 3)] * qkv[h.at(j, c, 1, 3)];
    sum += result.weights[j] = std::exp(score / std::sqrt(static_cast<double>(h.size.head_size)));
  }
  for (double& weight : result.weights) weight /= sum;
  result.log_sum_exp = std::log(sum);
  return result;
}

double plain_output(const Head& h, const Values& qkv, const Softmax& softmax, std::int64_t column) {
  double sum = 0;
  for (std::size_t j = 0; j < softmax.weights.size(); ++j)
    sum += softmax.weights[j] * qkv[h.at(static_cast<std::int64_t>(j), column, 2, 3)];
  return sum;
}

/// As a whole, and each value: the softmax's weights are rounded before they are summed with, so that single ones are off by
/// more. The fewer values a processor adds at once, the more of them a sum adds in a row: with AVX2 one of 57 600 was off by
/// 5.3 times the tolerance.
void expect_close(const Values& actual, const std::vector<double>& expected, double tolerance) {
  EXPECT_LT(kernels::test::relative_error(actual, expected), tolerance);
  EXPECT_TRUE(kernels::test::are_near(actual, expected, 10 * tolerance));
}

void expect_plain_forward(const Size& size, const Values& qkv, const Values& out, const Values& log_sum_exp,
                          double tolerance) {
  std::vector<double> plain_out(static_cast<std::size_t>(out.size()));
  std::vector<double> plain_log_sum_exp;
  for (std::int64_t s = 0; s < size.sequences; ++s)
    for (int head = 0; head < size.heads; ++head)
      for (std::int64_t row = 0; row < size.length; ++row) {
        const Head h{size, s, head};
        const Softmax softmax = plain_softmax(h, qkv, row);
        plain_log_sum_exp.push_back(softmax.log_sum_exp);
        for (std::int64_t c = 0; c < size.head_size; ++c)
          plain_out[static_cast<std::size_t>(h.at(row, c, 0, 1))] = plain_output(h, qkv, softmax, c);
      }
  expect_close(out, plain_out, tolerance);
  expect_close(log_sum_exp, plain_log_sum_exp, tolerance);
}

// d_qkv by the textbook formulas, summed in double.
std::vector<double> plain_backward(const Size& size, const Values& qkv, const Values& d_out) {
  std::vector<double> d(size.rows() * 3 * size.hidden());
  const double scale = 1 / std::sqrt(static_cast<double>(size.head_size));
  for (std::int64_t s = 0; s < size.sequences; ++s)
    for (int head = 0; head < size.heads; ++head)
      for (std::int64_t i = 0; i < size.length; ++i) {
        const Head h{size, s, head};
        const Softmax softmax = plain_softmax(h, qkv, i);
        double mean = 0;
        std::vector<double> d_weights(i + 1);
        for (std::int64_t j = 0; j <= i; ++j) {
          for (std::int64_t c = 0; c < size.head_size; ++c)
            d_weights[j] += d_out[h.at(i, c, 0, 1)] * qkv[h.at(j, c, 2, 3)];
          mean += softmax.weights[j] * d_weights[j];
        }
        for (std::int64_t j = 0; j <= i; ++j)
          for (std::int64_t c = 0; c < size.head_size; ++c) {
            const double d_score = softmax.weights[j] * (d_weights[j] - mean) * scale;
            d[h.at(i, c, 0, 3)] += d_score * qkv[h.at(j, c, 1, 3)];
            d[h.at(j, c, 1, 3)] += d_score * qkv[h.at(i, c, 0, 3)];
            d[h.at(j, c, 2, 3)] += softmax.weights[j] * d_out[h.at(i, c, 0, 1)];
          }
      }
  return d;
}

// Lengths below, at and beyond the blocks; head sizes of whole vectors, of none, and odd ones.
const Size kSizes[] = {{1, 1, 1, 16},    {2, 7, 3, 20},   {1, 48, 2, 64},  {2, 97, 2, 32},
                       {1, 150, 1, 128}, {1, 255, 2, 80}, {1, 256, 3, 64}, {2, 33, 2, 5}};

double tolerance_of(DType dtype) { return dtype == DType::f64 ? 1e-13 : dtype == DType::f32 ? 1e-6 : 1e-2; }

class AttentionOfSize : public Attention, public ::testing::WithParamInterface<Size> {};

INSTANTIATE_TEST_SUITE_P(sizes, AttentionOfSize, ::testing::ValuesIn(kSizes), [](const auto& of) {
  return "T" + std::to_string(of.param.length) + "_heads_of_" + std::to_string(of.param.head_size);
});

TEST_P(AttentionOfSize, forward_equals_plain_loops) {
  const Size& size = GetParam();
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    SCOPED_TRACE(name_of(dtype));
    const Values qkv(dtype, size.rows() * 3 * size.hidden(), 1);
    Values out(dtype, size.rows() * size.hidden(), 2);
    Values log_sum_exp(accumulation_of(dtype), size.rows() * size.heads, 3);
    forward(size, qkv, out, log_sum_exp);
    expect_plain_forward(size, qkv, out, log_sum_exp, tolerance_of(dtype));
  }
}

TEST_P(AttentionOfSize, backward_equals_plain_loops_and_may_overwrite_its_input) {
  const Size& size = GetParam();
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    SCOPED_TRACE(name_of(dtype));
    Values qkv(dtype, size.rows() * 3 * size.hidden(), 1), d_qkv(dtype, qkv.size(), 5);
    Values out(dtype, size.rows() * size.hidden(), 2), d_out(dtype, out.size(), 4);
    Values log_sum_exp(accumulation_of(dtype), size.rows() * size.heads, 3);
    forward(size, qkv, out, log_sum_exp);
    const std::vector<double> expected = plain_backward(size, qkv, d_out);
    backward(size, qkv, out, d_out, log_sum_exp, d_qkv);
    expect_close(d_qkv, expected, tolerance_of(dtype));
    backward(size, qkv, out, d_out, log_sum_exp, qkv);
    EXPECT_EQ(qkv.bytes(), d_qkv.bytes());
  }
}

TEST_F(Attention, backward_is_the_finite_difference_of_forward_in_fp64) {
  const Size size{1, 53, 2, 12};
  Values qkv(DType::f64, size.rows() * 3 * size.hidden(), 1), d_qkv(DType::f64, qkv.size(), 5);
  Values out(DType::f64, size.rows() * size.hidden(), 2);
  const Values d_out(DType::f64, out.size(), 4);
  Values log_sum_exp(DType::f64, size.rows() * size.heads, 3);
  const auto loss_at = [&](std::int64_t i, double value) {
    qkv.set(i, value);
    forward(size, qkv, out, log_sum_exp);
    double loss = 0;
    for (std::int64_t j = 0; j < out.size(); ++j) loss += out[j] * d_out[j];
    return loss;
  };
  forward(size, qkv, out, log_sum_exp);
  backward(size, qkv, out, d_out, log_sum_exp, d_qkv);
  for (std::int64_t i = 0; i < qkv.size(); i += 29) {
    const double value = qkv[i], step = 1e-5;
    const double slope = (loss_at(i, value + step) - loss_at(i, value - step)) / (2 * step);
    qkv.set(i, value);
    ASSERT_NEAR(d_qkv[i], slope, 1e-8) << "element " << i;
  }
}

TEST_F(Attention, scores_of_any_size_neither_overflow_nor_vanish) {
  const Size size{1, 100, 1, 64};
  for (const DType dtype : {DType::f64, DType::f32}) {
    Values qkv(dtype, size.rows() * 3 * size.hidden(), 1), d_qkv(dtype, qkv.size(), 5);
    Values out(dtype, size.rows() * size.hidden(), 2), log_sum_exp(dtype, size.rows() * size.heads, 3);
    for (std::int64_t row = 0; row < size.length; ++row)
      for (std::int64_t c = 0; c < 2 * size.head_size; ++c) {
        const std::int64_t i = row * 3 * size.head_size + c;
        qkv.set(i, qkv[i] * 300);  // scores of some 10^5
      }
    forward(size, qkv, out, log_sum_exp);
    backward(size, qkv, out, out, log_sum_exp, d_qkv);
    for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_LE(std::abs(out[i]), 1.0 + 1e-6);
    for (std::int64_t i = 0; i < d_qkv.size(); ++i) ASSERT_TRUE(std::isfinite(d_qkv[i])) << i;
  }
}

TEST_F(Attention, a_number_that_is_none_reaches_the_output_and_no_later_call) {
  const Size size{1, 60, 1, 64};
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    Values qkv(dtype, size.rows() * 3 * size.hidden(), 1), d_qkv(dtype, qkv.size(), 5);
    Values out(dtype, size.rows() * size.hidden(), 2), clean = out, d_clean = d_qkv;
    Values log_sum_exp(accumulation_of(dtype), size.rows() * size.heads, 3);
    forward(size, qkv, clean, log_sum_exp);
    backward(size, qkv, clean, clean, log_sum_exp, d_clean);
    Values broken = qkv;
    broken.set(59 * 3 * size.hidden(), std::numeric_limits<double>::quiet_NaN());            // the last query
    broken.set(3 * size.hidden() + size.hidden(), std::numeric_limits<double>::infinity());  // the second key
    forward(size, broken, out, log_sum_exp);
    EXPECT_TRUE(std::isnan(out[59 * size.hidden()])) << name_of(dtype);
    backward(size, broken, out, out, log_sum_exp, d_qkv);
    forward({1, 50, 1, 64}, qkv, out, log_sum_exp);
    forward(size, qkv, out, log_sum_exp);
    EXPECT_EQ(out.bytes(), clean.bytes()) << name_of(dtype);
    backward(size, qkv, out, out, log_sum_exp, d_qkv);
    EXPECT_EQ(d_qkv.bytes(), d_clean.bytes()) << name_of(dtype);
  }
}

}  // namespace
}  // namespace tenax::kernels
