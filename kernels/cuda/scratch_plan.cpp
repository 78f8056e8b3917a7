#include "kernels/cuda/scratch_plan.hpp"

#include <algorithm>

#include "kernels/cuda/embedding_backward_body.hpp"
#include "kernels/cuda_device.hpp"

namespace tenax::kernels {
namespace cuda {
namespace {

/// What the scores' gradients of one launch may take. Measure before changing: small launches leave multiprocessors idle,
/// big ones go through device memory instead of the L2 cache.
constexpr std::int64_t kScores_bytes = std::int64_t{512} << 20;
constexpr std::int64_t kQueriesOfTile = 64, kKeysOfTile = 128;
constexpr std::size_t kAlignment_bytes = 256;

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return divided_up(a, b) * b; }

std::int64_t score_bytes_of_sequence(const AttentionShape& shape) {
  return 2 * shape.heads * rounded_up(shape.length, kQueriesOfTile) * rounded_up(shape.length, kKeysOfTile);
}

std::size_t numbers(std::int64_t count, DType dtype) {
  return static_cast<std::size_t>(count) * bytes_of(dtype);
}

std::int64_t elements_of(const AttentionShape& shape) {
  return shape.sequences * shape.length * shape.hidden();
}

std::size_t attention_bytes(const StepShape& step, bool deterministic) {
  AttentionShape shape = attention_of(step);
  if (!cudnn_takes(step.compute, shape))
    return OwnBackwardScratch(shape, step.compute, step.overwrites_qkv).bytes;
  shape.sequences = sequences_of_launch(shape, deterministic);
  return CudnnBackwardScratch(shape, deterministic, step.overwrites_qkv,
                              cudnn_backward_bytes(shape, deterministic))
      .bytes;
}

/// Above what CUB's sort asks for: another pair of lists, and counters.
std::size_t sort_bytes_at_most(std::int64_t tokens) {
  constexpr std::size_t kCounters_bytes = std::size_t{1} << 20;
  return 16 * static_cast<std::size_t>(tokens) + kCounters_bytes;
}

}  // namespace

bool cudnn_takes(DType dtype, const AttentionShape& shape) {
  constexpr int kMaxHeadSize = 256;
  return dtype == DType::bf16 && shape.sequences > 0 && shape.length > 1 && shape.head_size % 8 == 0 &&
         shape.head_size <= kMaxHeadSize;
}

std::int64_t sequences_of_launch(const AttentionShape& shape, bool deterministic) {
  if (!deterministic) return shape.sequences;
  // So that each launch's log_sum_exp begins at a multiple of 16 bytes.
  const std::int64_t step = std::int64_t{shape.length} * shape.heads % 4 == 0 ? 1 : 4;
  const std::int64_t most = std::max(kScores_bytes / score_bytes_of_sequence(shape) / step * step, step);
  // Launches of one size, if possible: one plan.
  const std::int64_t even = divided_up(shape.sequences, divided_up(shape.sequences, most));
  return std::min(divided_up(even, step) * step, shape.sequences);
}

std::size_t WorkspaceParts::add(std::size_t bytes) {
  const std::size_t begin = end_;
  end_ += (bytes + kAlignment_bytes - 1) / kAlignment_bytes * kAlignment_bytes;
  return begin;
}

CudnnBackwardScratch::CudnnBackwardScratch(const AttentionShape& launch, bool deterministic, bool in_place,
                                           std::size_t cudnn_bytes) {
  WorkspaceParts parts;
  cudnn = parts.add(cudnn_bytes);
  output_dots = parts.add(numbers(launch.count() * launch.length, DType::f32));
  d_q_sums = parts.add(deterministic ? 0 : numbers(elements_of(launch), DType::f32));
  d_qkv = parts.add(in_place ? numbers(3 * elements_of(launch), DType::bf16) : 0);
  bytes = parts.bytes();
}

std::size_t cudnn_backward_bytes(const AttentionShape& launch, bool deterministic) {
  const std::int64_t scores = deterministic ? launch.sequences * score_bytes_of_sequence(launch) : 0;
  return static_cast<std::size_t>(scores) + kAlignment_bytes;
}

OwnBackwardScratch::OwnBackwardScratch(const AttentionShape& shape, DType dtype, bool in_place) {
  WorkspaceParts parts;
  output_dots = parts.add(numbers(shape.count() * shape.length, accumulation_of(dtype)));
  d_q = parts.add(in_place ? numbers(elements_of(shape), dtype) : 0);
  bytes = parts.bytes();
}

EmbeddingBackwardScratch::EmbeddingBackwardScratch(std::int64_t tokens, std::int64_t columns, DType sums,
                                                   std::size_t bytes_of_sort)
    : sort_bytes(bytes_of_sort) {
  WorkspaceParts parts;
  for (std::size_t* list : {&keys, &rows, &sorted_keys, &sorted_rows})
    *list = parts.add(numbers(tokens, DType::i32));
  partial = parts.add(numbers(token_tiles(tokens) * 2 * columns, sums));
  sort = parts.add(sort_bytes);
  bytes = parts.bytes();
}

}  // namespace cuda

cuda::AttentionShape cuda::attention_of(const StepShape& shape) {
  return {shape.sequences, static_cast<int>(shape.length), shape.heads, static_cast<int>(shape.head_size)};
}

std::size_t cuda_scratch_bytes(const StepShape& shape, bool deterministic) {
  return cuda::step_scratch_bytes(shape, cuda::attention_bytes(shape, deterministic));
}

std::size_t cuda::step_scratch_bytes(const StepShape& shape, std::size_t attention_bytes) {
  const std::size_t least = std::max(cuda::kLeastWorkspace_bytes, attention_bytes);
  if (!shape.has_embedding) return least;
  const std::int64_t tokens = shape.sequences * shape.length;
  return std::max(least,
                  cuda::EmbeddingBackwardScratch(tokens, shape.hidden_size, accumulation_of(shape.compute),
                                                 cuda::sort_bytes_at_most(tokens))
                      .bytes);
}

}  // namespace tenax::kernels
