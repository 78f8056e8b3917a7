// What a plan says of the GPU's scratch memory, on machines without one.
#include "kernels/cuda/scratch_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/cuda_device.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

StepShape gpt2_small(DType compute, std::int64_t sequences) {
  return {compute, sequences, 1024, 768, 12, 64, true};
}

TEST(CudaScratch, of_a_small_microbatch_is_what_products_and_sums_need) {
  EXPECT_EQ(cuda_scratch_bytes(gpt2_small(DType::bf16, 1), true), kLeastWorkspace_bytes);
  EXPECT_EQ(cuda_scratch_bytes(gpt2_small(DType::f32, 4), true), kLeastWorkspace_bytes);
  EXPECT_EQ(cuda_scratch_bytes({}, true), kLeastWorkspace_bytes) << "of a stream for products alone";
}

// 64 sequences go in four launches of 16: the gradients of 16 · 12 · 1024² scores, one number a row of each head, and
// the gradient of qkv, which may not overwrite it.
TEST(CudaScratch, of_deterministic_attention_is_one_launchs_score_gradients) {
  const std::size_t scores = 2 * 16 * 12 * kMiB + 256, dots = 4 * 16 * 12 * 1024,
                    d_qkv = 2 * 16 * 1024 * 3 * 768;
  EXPECT_EQ(cuda_scratch_bytes(gpt2_small(DType::bf16, 64), true), scores + dots + d_qkv);
}

TEST(CudaScratch, of_attention_whose_bits_may_differ_is_the_sums_of_all_sequences) {
  const std::size_t rows = 64 * 1024, dots = 4 * 12 * rows, sums = 4 * 768 * rows, d_qkv = 2 * 3 * 768 * rows;
  EXPECT_EQ(cuda_scratch_bytes(gpt2_small(DType::bf16, 64), false), 256 + dots + sums + d_qkv);
}

TEST(CudaScratch, of_own_attention_is_a_number_a_row_and_the_gradient_of_q) {
  const std::size_t rows = 64 * 1024;
  EXPECT_EQ(cuda_scratch_bytes(gpt2_small(DType::f32, 64), true), 4 * 12 * rows + 4 * 768 * rows);
  StepShape odd = gpt2_small(DType::bf16, 64);
  odd.head_size = 60;  // which cuDNN does not take
  EXPECT_EQ(cuda_scratch_bytes(odd, true), 4 * 12 * rows + 2 * 12 * 60 * rows);
}

TEST(CudaScratch, of_attention_whose_gradient_has_memory_of_its_own_is_less_by_that) {
  const std::size_t hidden = 64 * 1024 * 768;
  for (const auto& [dtype, deterministic, saved] :
       {std::tuple{DType::bf16, false, 2 * 3 * hidden}, std::tuple{DType::bf16, true, 2 * 3 * hidden / 4},
        std::tuple{DType::f32, true, 4 * hidden}}) {
    StepShape shape = gpt2_small(dtype, 64);
    const std::size_t in_place = cuda_scratch_bytes(shape, deterministic);
    shape.has_embedding = shape.overwrites_qkv = false;
    EXPECT_EQ(std::max(in_place - saved, kLeastWorkspace_bytes), cuda_scratch_bytes(shape, deterministic));
  }
}

TEST(CudaScratch, of_an_embedding_counts_on_the_stage_that_has_it) {
  StepShape wide{DType::f32, 64, 1024, 8192, 2, 64, true};  // a quarter of a row of sums for each token
  const std::size_t with = cuda_scratch_bytes(wide, true);
  wide.has_embedding = false;
  const std::size_t without = cuda_scratch_bytes(wide, true);
  EXPECT_EQ(without, kLeastWorkspace_bytes);
  EXPECT_GE(with, 64 * 1024 * 8192 / 4);
  EXPECT_LE(with, 64 * 1024 * 8192 / 4 + 4 * kMiB);
}

// {sequences, length, heads, head size}, bytes: cuDNN 9.19's, for an H200 that is described to it.
TEST(CudnnBackwardScratch, is_what_cudnn_says_of_an_h200) {
  const std::pair<AttentionShape, std::size_t> plans[] = {
      {{16, 1024, 12, 64}, 402653440}, {{10, 1024, 25, 64}, 524288256}, {{4, 2048, 16, 128}, 536871168},
      {{1, 1000, 2, 128}, 4194560},    {{3, 101, 3, 64}, 295168},       {{1, 33, 2, 64}, 33024},
      {{1, 130, 1, 80}, 98560},        {{2, 513, 1, 256}, 1474816}};
  for (const auto& [shape, bytes] : plans) {
    EXPECT_EQ(cudnn_backward_bytes(shape, true), bytes);
    EXPECT_EQ(cudnn_backward_bytes(shape, false), 256u);
  }
}

TEST(AttentionLaunches, are_alike_aligned_and_within_half_a_gibibyte) {
  for (const AttentionShape& shape : {AttentionShape{32, 1024, 12, 64},
                                      {64, 1024, 12, 64},
                                      {33, 1023, 25, 64},
                                      {5, 8191, 25, 64},
                                      {1, 8192, 25, 64},
                                      {3, 101, 3, 64}}) {
    const std::int64_t count = sequences_of_launch(shape, true);
    ASSERT_GE(count, 1);
    AttentionShape launch = shape;
    launch.sequences = count;
    const bool is_least = count <= 4;  // the log-sum-exp of fewer sequences may not begin at 16 bytes
    EXPECT_TRUE(is_least || cudnn_backward_bytes(launch, true) <= 512 * kMiB + 256);
    EXPECT_TRUE(count == shape.sequences || count * shape.length * shape.heads % 4 == 0);
    EXPECT_EQ(sequences_of_launch(shape, false), shape.sequences);
  }
  EXPECT_EQ(sequences_of_launch({32, 1024, 12, 64}, true), 16);
}

TEST(CudnnBackwardScratch, has_its_parts_apart_and_aligned) {
  const AttentionShape shape{3, 101, 3, 64};
  for (const bool deterministic : {true, false}) {
    const CudnnBackwardScratch scratch(shape, deterministic, true, 1000);
    const std::size_t ends[] = {1000, scratch.output_dots + 4 * 3 * 101 * 3,
                                scratch.d_q_sums + (deterministic ? 0 : 4 * 3 * 101 * 192),
                                scratch.d_qkv + 2 * 3 * 101 * 3 * 192};
    const std::size_t begins[] = {scratch.output_dots, scratch.d_q_sums, scratch.d_qkv, scratch.bytes};
    for (int i = 0; i < 4; ++i) {
      EXPECT_LE(ends[i], begins[i]);
      EXPECT_LT(begins[i] - ends[i], 256u);
      EXPECT_EQ(begins[i] % 256, 0u);
    }
    EXPECT_EQ(CudnnBackwardScratch(shape, deterministic, false, 1000).bytes, scratch.d_qkv);
  }
}

}  // namespace
}  // namespace tenax::kernels::cuda
