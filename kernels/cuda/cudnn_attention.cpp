#include "kernels/cuda/cudnn_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "kernels/cuda/cudnn_attention_plans.hpp"
#include "kernels/cuda/scratch_plan.hpp"
#include "kernels/shared_library.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr std::size_t kElement_bytes = 2;

constexpr LibraryVersion kLeast{9, 6, 0};

void check_version() {
  require_version("cuDNN", LibraryVersion::of_number(static_cast<int>(cudnnGetVersion())), kLeast,
                  "before which sums of attention's gradients were not cleared; or set device.kind = \"cpu\"");
}

bool are_aligned(std::initializer_list<const void*> pointers) {
  return std::all_of(pointers.begin(), pointers.end(),
                     [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; });
}

std::byte* at(void* memory, std::size_t bytes) { return static_cast<std::byte*>(memory) + bytes; }

// The numbers that graphs take from host memory.
struct Numbers {
  explicit Numbers(const AttentionShape& shape)
      : scale(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_size)))) {}
  float scale, masked = -std::numeric_limits<float>::infinity(), one = 1;
};

}  // namespace

struct CudnnAttention::Library {
  explicit Library(bool deterministic) : plans(deterministic) {}
  void backward(cudnnHandle_t cudnn, cudaStream_t stream, const AttentionBackwardArgs& args,
                const AttentionShape& shape, Workspace& workspace);

  std::mutex mutex;
  CudnnAttentionPlans plans;
};

CudnnAttention::CudnnAttention(bool deterministic) : library_(std::make_unique<Library>(deterministic)) {
  check_version();
}
CudnnAttention::~CudnnAttention() = default;

bool CudnnAttention::forward(cudaStream_t stream, const AttentionForwardArgs& args, Workspace& workspace) {
  const AttentionShape shape = attention_shape_of(args.out, args.heads);
  if (!cudnn_takes(args.qkv.dtype, shape) ||
      !are_aligned({args.qkv.data, args.out.data, args.log_sum_exp.data}))
    return false;
  const std::lock_guard lock(library_->mutex);
  const cudnnHandle_t cudnn = library_->plans.handle_on(stream);
  const auto& [graph, plan] = library_->plans.forward(stream, shape);
  if (!plan) return false;
  Numbers numbers(shape);
  const std::size_t part_bytes = shape.hidden() * kElement_bytes;
  plan->execute(cudnn,
                {{graph.q, args.qkv.data},
                 {graph.k, at(args.qkv.data, part_bytes)},
                 {graph.v, at(args.qkv.data, 2 * part_bytes)},
                 {graph.scale, &numbers.scale},
                 {graph.masked, &numbers.masked},
                 {graph.out, args.out.data},
                 {graph.log_sum_exp, args.log_sum_exp.data}},
                workspace.take(plan->workspace_bytes()));
  return true;
}

bool CudnnAttention::backward(cudaStream_t stream, const AttentionBackwardArgs& args, Workspace& workspace) {
  const AttentionShape whole = attention_shape_of(args.out, args.heads);
  if (!cudnn_takes(args.qkv.dtype, whole) ||
      !are_aligned({args.qkv.data, args.out.data, args.d_out.data, args.log_sum_exp.data, args.d_qkv.data}))
    return false;
  const std::lock_guard lock(library_->mutex);
  const cudnnHandle_t cudnn = library_->plans.handle_on(stream);
  const std::int64_t most = sequences_of_launch(whole, library_->plans.deterministic());
  AttentionShape shape = whole;
  const auto shape_from = [&](std::int64_t first) {
    shape.sequences = std::min(most, whole.sequences - first);
    return shape;
  };
  // All plans first: it is cuDNN for every sequence or for none.
  for (std::int64_t first = 0; first < whole.sequences; first += most)
    if (!library_->plans.backward(stream, shape_from(first)).plan) return false;
  const std::int64_t row = whole.length * whole.hidden(),
                     statistics = std::int64_t{whole.length} * whole.heads;
  for (std::int64_t first = 0; first < whole.sequences; first += most) {
    const std::int64_t count = shape_from(first).sequences;
    const auto part = [&](const Tensor& x, std::int64_t size) {
      return x.part(first * size, {count * size});
    };
    library_->backward(cudnn, stream,
                       {part(args.qkv, 3 * row), part(args.out, row), part(args.d_out, row),
                        part(args.log_sum_exp, statistics), part(args.d_qkv, 3 * row), args.heads},
                       shape, workspace);
  }
  return true;
}

// cuDNN does not say that gradients may overwrite q, k and v: in place they go to scratch memory first.
// (GPT-2 124M with 32 sequences: 0.3 GB moved per layer, about 1 % of a step.)
void CudnnAttention::Library::backward(cudnnHandle_t cudnn, cudaStream_t stream,
                                       const AttentionBackwardArgs& args, const AttentionShape& shape,
                                       Workspace& workspace) {
  const auto& [graph, plan] = plans.backward(stream, shape);
  const bool in_place = args.d_qkv.data == args.qkv.data;
  const CudnnBackwardScratch scratch(shape, plans.deterministic(), in_place,
                                     static_cast<std::size_t>(plan->workspace_bytes()));
  void* const memory = workspace.take(scratch.bytes);
  void* const d_qkv = in_place ? at(memory, scratch.d_qkv) : args.d_qkv.data;

  Numbers numbers(shape);
  const std::size_t part_bytes = shape.hidden() * kElement_bytes;
  std::map<CudnnGraph::Id, void*> tensors{{graph.q, args.qkv.data},
                                          {graph.k, at(args.qkv.data, part_bytes)},
                                          {graph.v, at(args.qkv.data, 2 * part_bytes)},
                                          {graph.out, args.out.data},
                                          {graph.d_out, args.d_out.data},
                                          {graph.log_sum_exp, args.log_sum_exp.data},
                                          {graph.scale, &numbers.scale},
                                          {graph.masked, &numbers.masked},
                                          {graph.one, &numbers.one},
                                          {graph.output_dots, at(memory, scratch.output_dots)},
                                          {graph.d_q, d_qkv},
                                          {graph.d_k, at(d_qkv, part_bytes)},
                                          {graph.d_v, at(d_qkv, 2 * part_bytes)}};
  if (graph.d_q_sums) tensors.emplace(*graph.d_q_sums, at(memory, scratch.d_q_sums));
  plan->execute(cudnn, tensors, at(memory, scratch.cudnn));
  if (in_place)
    TENAX_CUDA_CHECK(
        cudaMemcpyAsync(args.d_qkv.data, d_qkv, args.d_qkv.bytes(), cudaMemcpyDeviceToDevice, stream));
}

}  // namespace tenax::kernels::cuda
