// The own attention kernels' bodies on the host: against the CPU back end, and by several threads at once.
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <functional>
#include <thread>

#include "kernels/cpu/cpu_loops.hpp"
#include "kernels/cuda/attention_limits.hpp"
#include "tests/kernels/matmul_values.hpp"
#include "tests/kernels/relative_error.hpp"

namespace tenax::kernels::cuda {
namespace {

// A block of threads, each of which runs the body, as on a GPU.
class HostThreads {
 public:
  HostThreads(std::barrier<>& barrier, int rank, int size) : barrier_(barrier), rank_(rank), size_(size) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  void sync() const { barrier_.arrive_and_wait(); }

 private:
  std::barrier<>& barrier_;
  int rank_, size_;
};

template <class Body>
void run_block(int threads, const Body& body) {
  if (threads == 1) return body(SingleThread{});
  std::barrier<> barrier(threads);
  std::vector<std::jthread> group;
  for (int rank = 0; rank < threads; ++rank)
    group.emplace_back([&, rank] { body(HostThreads(barrier, rank, threads)); });
}

// Everything that one attention operation reads and writes.
struct Case {
  Case(DType dtype, const AttentionShape& shape_)
      : shape(shape_),
        rows(shape.sequences * shape.length),
        qkv(dtype, rows * 3 * shape.hidden(), 1),
        out(dtype, rows * shape.hidden(), 2),
        d_out(dtype, rows * shape.hidden(), 3),
        log_sum_exp(accumulation_of(dtype), shape.count() * shape.length, 4),
        output_dots(accumulation_of(dtype), shape.count() * shape.length, 5),
        d_qkv(dtype, qkv.size(), 6) {}
  Tensor wide(const Values& values) const {
    return values.tensor({shape.sequences, shape.length, 3 * shape.hidden()});
  }
  Tensor narrow(const Values& values) const {
    return values.tensor({shape.sequences, shape.length, shape.hidden()});
  }
  Tensor statistics(const Values& values) const {
    return values.tensor({shape.sequences, shape.heads, shape.length});
  }
  AttentionShape shape;
  std::int64_t rows;
  Values qkv, out, d_out, log_sum_exp, output_dots, d_qkv;
};

void cpu_forward(Case& c) {
  ThreadTeam alone(1);
  cpu_loops().create_attention(alone)->forward(
      {c.wide(c.qkv), c.narrow(c.out), c.statistics(c.log_sum_exp), c.shape.heads});
}

void cpu_backward(Case& c) {
  ThreadTeam alone(1);
  cpu_loops().create_attention(alone)->backward({c.wide(c.qkv), c.narrow(c.out), c.narrow(c.d_out),
                                                 c.statistics(c.log_sum_exp), c.wide(c.d_qkv),
                                                 c.shape.heads});
}

// What has been left over by other blocks, as shared memory has it.
template <class Real>
std::vector<Quad<Real>> scratch(int size) {
  return std::vector<Quad<Real>>(size / 4 + 1, Quad<Real>{{NAN, NAN, NAN, NAN}});
}

template <class Element>
void forward(Case& c, int threads) {
  using Real = Accumulator<Element>;
  const AttentionForward<Element> op{
      c.shape, c.wide(c.qkv).as<const Element>(), c.narrow(c.out).as<Element>(),
      c.statistics(c.log_sum_exp).as<Real>(),
      static_cast<Real>(1 / std::sqrt(static_cast<double>(c.shape.head_size)))};
  for (std::int64_t index = 0; index < c.shape.count(); ++index)
    for (int first = 0; first < c.shape.length; first += kForwardQueries) {
      auto memory = scratch<Real>(ForwardTiles<Real>::size(c.shape.head_size));
      run_block(threads, [&](auto group) { attention_forward_block(group, op, index, first, memory[0].at); });
    }
}

template <class Element>
AttentionBackward<Element> backward_of(Case& c, Tensor d_q, int d_q_parts) {
  using Real = Accumulator<Element>;
  return {c.shape,
          c.wide(c.qkv).as<const Element>(),
          c.narrow(c.out).as<const Element>(),
          c.narrow(c.d_out).as<const Element>(),
          c.statistics(c.log_sum_exp).as<const Real>(),
          c.statistics(c.output_dots).as<Real>(),
          d_q.as<Element>(),
          c.wide(c.d_qkv).as<Element>(),
          d_q_parts,
          static_cast<Real>(1 / std::sqrt(static_cast<double>(c.shape.head_size)))};
}

// All d_q, then all d_k and d_v, as the two kernels run.
template <class Element>
void backward(const AttentionBackward<Element>& op, int threads) {
  using Real = Accumulator<Element>;
  const AttentionShape& shape = op.shape;
  for (std::int64_t index = 0; index < shape.count(); ++index)
    for (int row = 0; row < shape.length; ++row) attention_output_dot(SingleThread{}, op, index, row);
  const auto for_blocks = [&](int tiles, const auto& body) {
    for (std::int64_t index = 0; index < shape.count(); ++index)
      for (int first = 0; first < shape.length; first += kBackwardRows) {
        auto memory = scratch<Real>(BackwardTiles<Real>::size(shape.head_size, tiles));
        run_block(threads, [&](auto group) { body(group, index, first, memory[0].at); });
      }
  };
  for_blocks(kQueryTiles, [&](auto group, std::int64_t index, int first, Real* memory) {
    attention_backward_queries(group, op, index, first, memory);
  });
  for_blocks(kKeyTiles, [&](auto group, std::int64_t index, int first, Real* memory) {
    attention_backward_keys(group, op, index, first, memory);
  });
}

void expect_close(const Values& values, const Values& expected, double tolerance, const char* what,
                  const AttentionShape& shape) {
  ASSERT_TRUE(kernels::test::are_near(values, expected, tolerance))
      << what << ", T " << shape.length << ", head size " << shape.head_size;
}

// Lengths below, at and beyond the tiles; head sizes of whole quads and others.
const AttentionShape kShapes[] = {{1, 1, 1, 16},   {2, 31, 3, 64}, {1, 64, 2, 128}, {2, 97, 2, 80},
                                  {1, 129, 1, 96}, {1, 65, 2, 5},  {2, 33, 1, 22},  {1, 40, 1, 256}};

template <class Element>
class CudaAttentionBodies : public ::testing::Test {
 protected:
  static constexpr DType kType = sizeof(Element) == 8   ? DType::f64
                                 : sizeof(Element) == 4 ? DType::f32
                                                        : DType::bf16;
  static constexpr double kTolerance = kType == DType::f64 ? 1e-13 : kType == DType::f32 ? 3e-6 : 2e-2;
};
using ElementTypes = ::testing::Types<double, float, bf16_t>;
TYPED_TEST_SUITE(CudaAttentionBodies, ElementTypes);

TYPED_TEST(CudaAttentionBodies, forward_equals_the_cpu_back_end) {
  for (const AttentionShape& shape : kShapes) {
    Case cpu(this->kType, shape), body(this->kType, shape);
    cpu_forward(cpu);
    forward<TypeParam>(body, 1);
    expect_close(body.out, cpu.out, this->kTolerance, "output", shape);
    expect_close(body.log_sum_exp, cpu.log_sum_exp, this->kTolerance, "log-sum-exp", shape);
  }
}

TYPED_TEST(CudaAttentionBodies, backward_equals_the_cpu_back_end) {
  for (const AttentionShape& shape : kShapes) {
    Case cpu(this->kType, shape), body(this->kType, shape);
    cpu_forward(cpu);
    cpu_backward(cpu);
    forward<TypeParam>(body, 1);
    backward(backward_of<TypeParam>(body, body.wide(body.d_qkv), 3), 1);
    expect_close(body.d_qkv, cpu.d_qkv, 3 * this->kTolerance, "gradient", shape);
  }
}

TYPED_TEST(CudaAttentionBodies, gradients_of_keys_and_values_may_overwrite_these) {
  for (const AttentionShape& shape : kShapes) {
    Case apart(this->kType, shape), in_place(this->kType, shape);
    forward<TypeParam>(apart, 1);
    forward<TypeParam>(in_place, 1);
    backward(backward_of<TypeParam>(apart, apart.wide(apart.d_qkv), 3), 1);
    Values d_q(this->kType, in_place.out.size(), 9);
    auto op = backward_of<TypeParam>(in_place, in_place.narrow(d_q), 1);
    op.d_kv = in_place.wide(in_place.qkv).template as<TypeParam>();
    backward(op, 1);
    for (std::int64_t row = 0; row < in_place.rows; ++row)
      for (std::int64_t c = 0; c < 3 * shape.hidden(); ++c) {
        const std::int64_t at = row * 3 * shape.hidden() + c;
        const double value = c < shape.hidden() ? d_q[row * shape.hidden() + c] : in_place.qkv[at];
        ASSERT_EQ(value, apart.d_qkv[at]) << "row " << row << " column " << c;
      }
  }
}

// Under ThreadSanitizer this finds every missing barrier.
TYPED_TEST(CudaAttentionBodies, several_threads_compute_the_bits_of_one) {
  for (const AttentionShape& shape : {AttentionShape{1, 97, 1, 20}, AttentionShape{1, 65, 1, 64}}) {
    Case one(this->kType, shape), several(this->kType, shape);
    forward<TypeParam>(one, 1);
    forward<TypeParam>(several, 3);
    EXPECT_EQ(several.out.bytes(), one.out.bytes());
    EXPECT_EQ(several.log_sum_exp.bytes(), one.log_sum_exp.bytes());
    backward(backward_of<TypeParam>(one, one.wide(one.d_qkv), 3), 1);
    backward(backward_of<TypeParam>(several, several.wide(several.d_qkv), 3), 3);
    EXPECT_EQ(several.d_qkv.bytes(), one.d_qkv.bytes());
  }
}

TYPED_TEST(CudaAttentionBodies, scores_of_any_size_neither_overflow_nor_vanish) {
  const AttentionShape shape{1, 100, 1, 64};
  Case c(this->kType, shape);
  for (std::int64_t row = 0; row < shape.length; ++row)
    for (std::int64_t column = 0; column < 2 * shape.head_size; ++column) {
      const std::int64_t i = row * 3 * shape.head_size + column;
      c.qkv.set(i, c.qkv[i] * 300);  // scores of some 10^5
    }
  forward<TypeParam>(c, 1);
  backward(backward_of<TypeParam>(c, c.wide(c.d_qkv), 3), 1);
  for (std::int64_t i = 0; i < c.out.size(); ++i) ASSERT_LE(std::abs(c.out[i]), 1.0 + 1e-6);
  for (std::int64_t i = 0; i < c.d_qkv.size(); ++i) ASSERT_TRUE(std::isfinite(c.d_qkv[i])) << i;
}

TYPED_TEST(CudaAttentionBodies, a_number_that_is_none_reaches_the_output) {
  const AttentionShape shape{1, 60, 1, 64};
  Case c(this->kType, shape);
  c.qkv.set(59 * 3 * shape.hidden(), std::nan(""));  // the last query
  forward<TypeParam>(c, 1);
  EXPECT_TRUE(std::isnan(c.out[59 * shape.hidden()]));
  EXPECT_TRUE(std::isnan(c.log_sum_exp[59]));
  EXPECT_FALSE(std::isnan(c.out[58 * shape.hidden()]));
}

// Shared memory of a block on compute capability 8.6, 8.9 and 12.0; on 8.0; and on 9.0.
constexpr std::size_t kSmallBlock = 101376, kAmpereBlock = 166912, kHopperBlock = 232448;

TEST(AttentionLimits, are_the_heads_whose_tiles_fit_into_a_block) {
  constexpr auto kForward = AttentionPass::forward, kBackward = AttentionPass::backward;
  EXPECT_EQ(largest_head<float>(kForward, kSmallBlock), 136);
  EXPECT_EQ(largest_head<float>(kBackward, kSmallBlock), 112);
  EXPECT_EQ(largest_head<float>(kForward, kAmpereBlock), 240);
  EXPECT_EQ(largest_head<float>(kBackward, kAmpereBlock), 200);
  EXPECT_EQ(largest_head<double>(kBackward, kSmallBlock), 48);
  for (const auto pass : {kForward, kBackward}) {
    EXPECT_EQ(largest_head<float>(pass, kHopperBlock), 256);
    EXPECT_EQ(largest_head<double>(pass, kHopperBlock), 128);
    for (const std::size_t block : {kSmallBlock, kAmpereBlock}) {
      const int largest = largest_head<float>(pass, block);
      EXPECT_LE(attention_block_bytes<float>(pass, largest), block);
      EXPECT_GT(attention_block_bytes<float>(pass, largest + 1), block);
    }
  }
}

std::string refusal(AttentionPass pass, DType dtype) {
  try {
    check_head_size<float>(pass, 128, dtype, kSmallBlock);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::rank);
    return error.what();
  }
}

TEST(AttentionLimits, are_told_with_what_to_do) {
  EXPECT_EQ(refusal(AttentionPass::forward, DType::f32), "");
  const std::string
      backward =
          "attention's backward pass on this GPU, by own kernels, takes heads of up to 112 numbers in ",
      more = ", not 128: use more heads (model.num_attention_heads)";
  EXPECT_EQ(refusal(AttentionPass::backward, DType::f32),
            backward + "fp32" + more + ", or model.compute_dtype = \"bf16\"");
  EXPECT_EQ(refusal(AttentionPass::backward, DType::bf16), backward + "bf16" + more);
}

}  // namespace
}  // namespace tenax::kernels::cuda
