// Attention on a GPU against the CPU back end in fp64, whichever kernels compute it.
#include <cmath>
#include <vector>

#include "kernels/cuda_device.hpp"
#include "tests/kernels/operation_test.hpp"
#include "tests/kernels/relative_error.hpp"

namespace tenax::kernels::test {
namespace {

struct Size {
  std::int64_t sequences, length;
  int heads;
  std::int64_t head_size;
  std::int64_t hidden() const { return heads * head_size; }
  std::string to_string() const {
    return std::to_string(sequences) + " sequences of " + std::to_string(length) + ", " +
           std::to_string(heads) + " heads of " + std::to_string(head_size);
  }
};

using Sizes = std::vector<Size>;

// Heads of GPT-2, in lengths that are multiples of a tile and not; what cuDNN takes and what it does not. The short ones are
// for compute-sanitizer too, which records every access (tests/bench/gpu.sh).
const Sizes kShort = {{3, 100, 2, 64}, {2, 128, 2, 128}, {2, 97, 2, 80}, {1, 129, 1, 96},
                      {1, 1, 2, 64},   {2, 33, 2, 5},    {1, 70, 3, 20}};
const Sizes kLong = {{2, 256, 3, 64}, {1, 1000, 1, 64}, {1, 333, 3, 128}};

struct Results {
  Values out, log_sum_exp, d_qkv;
};

// What an attention layer computes from values that are exact in `rounded`, in `dtype` on this bench.
class Layer {
 public:
  Layer(Workbench& bench, const Size& size, DType dtype, DType rounded)
      : bench_(bench), size_(size), dtype_(dtype) {
    const Shape wide{size.sequences, size.length, 3 * size.hidden()},
        narrow{size.sequences, size.length, size.hidden()};
    qkv = made("qkv", wide, rounded);
    d_out = made("d_out", narrow, rounded);
    out = bench_.poisoned(dtype, narrow);
    log_sum_exp = bench_.poisoned(accumulation_of(dtype), {size.sequences, size.heads, size.length});
    d_qkv = bench_.poisoned(dtype, wide);
  }
  Results run(bool in_place) {
    bench_.kernels().attention_forward(bench_.stream(), {qkv, out, log_sum_exp, size_.heads});
    const Tensor target = in_place ? qkv : d_qkv;
    bench_.kernels().attention_backward(bench_.stream(), {qkv, out, d_out, log_sum_exp, target, size_.heads});
    return {bench_.values(out), bench_.values(log_sum_exp), bench_.values(target)};
  }

 private:
  Tensor made(const std::string& name, Shape shape, DType rounded) {
    return bench_.tensor(dtype_, shape,
                         bench_.values(bench_.tensor(rounded, shape, normal_values(name, shape.size()))));
  }
  Workbench& bench_;
  Size size_;
  DType dtype_;
  Tensor qkv, d_out, out, log_sum_exp, d_qkv;
};

void skip_without_gpu() {
  const CudaPresence presence = cuda_presence();
  if (presence.devices == 0) GTEST_SKIP() << presence.reason;
}

class CudaAttention : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override { skip_without_gpu(); }
};

void expect_what_the_cpu_computes_in_fp64(DType dtype, const Sizes& sizes) {
  const double tolerance = dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 1e-5 : 1e-2;
  Workbench cpu("cpu"), cuda("cuda");
  for (const Size& size : sizes) {
    const Results expected = Layer(cpu, size, DType::f64, dtype).run(false);
    const Results actual = Layer(cuda, size, dtype, dtype).run(false);
    EXPECT_LT(relative_error(actual.out, expected.out), tolerance) << size.to_string();
    EXPECT_LT(relative_error(actual.log_sum_exp, expected.log_sum_exp), tolerance) << size.to_string();
    EXPECT_LT(relative_error(actual.d_qkv, expected.d_qkv), tolerance) << size.to_string();
  }
}

TEST_P(CudaAttention, equals_the_cpu_over_short_sequences) {
  expect_what_the_cpu_computes_in_fp64(GetParam(), kShort);
}

TEST_P(CudaAttention, equals_the_cpu_over_long_sequences) {
  expect_what_the_cpu_computes_in_fp64(GetParam(), kLong);
}

TEST_P(CudaAttention, repeats_bit_for_bit_and_may_overwrite_its_input) {
  Workbench cuda("cuda");
  for (const Size& size : {Size{2, 1024, 6, 64}, Size{3, 200, 2, 128}, Size{2, 70, 2, 20}}) {
    const Results first = Layer(cuda, size, GetParam(), GetParam()).run(false);
    for (const bool in_place : {false, true}) {
      const Results again = Layer(cuda, size, GetParam(), GetParam()).run(in_place);
      EXPECT_EQ(again.out, first.out) << size.to_string();
      EXPECT_EQ(again.log_sum_exp, first.log_sum_exp) << size.to_string();
      EXPECT_EQ(again.d_qkv, first.d_qkv) << size.to_string() << (in_place ? ", in place" : "");
    }
  }
}

class CudaAttentionInLaunches : public testing::Test {
 protected:
  void SetUp() override { skip_without_gpu(); }
};

// 2 bytes · 4096² of scores a sequence: at most 16 to a launch (cudnn_attention.cpp): 9, then 8.
TEST_F(CudaAttentionInLaunches, treats_each_sequence_alike) {
  const std::int64_t count = 17, length = 4096, head_size = 64, row = length * head_size;
  const auto repeated = [&](const char* name, std::int64_t size) {
    const Values one = normal_values(name, size);
    Values all;
    for (std::int64_t i = 0; i < count; ++i) all.insert(all.end(), one.begin(), one.end());
    return all;
  };
  Workbench cuda("cuda");
  const Shape wide{count, length, 3 * head_size}, narrow{count, length, head_size};
  const Tensor qkv = cuda.tensor(DType::bf16, wide, repeated("qkv", 3 * row)),
               out = cuda.poisoned(DType::bf16, narrow),
               d_out = cuda.tensor(DType::bf16, narrow, repeated("d_out", row)),
               log_sum_exp = cuda.poisoned(DType::f32, {count, 1, length});
  cuda.kernels().attention_forward(cuda.stream(), {qkv, out, log_sum_exp, 1});
  cuda.kernels().attention_backward(cuda.stream(), {qkv, out, d_out, log_sum_exp, qkv, 1});
  const Values first = cuda.values(qkv.part(0, {3 * row}));
  for (std::int64_t i = 1; i < count; ++i)
    EXPECT_LT(relative_error(cuda.values(qkv.part(i * 3 * row, {3 * row})), first), 1e-2) << "sequence " << i;
}

INSTANTIATE_TEST_SUITE_P(, CudaAttention, testing::Values(DType::f32, DType::bf16, DType::f64),
                         [](const auto& type) { return std::string(name_of(type.param)); });

}  // namespace
}  // namespace tenax::kernels::test
