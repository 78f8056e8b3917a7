#include "kernels/cuda/cudnn_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "kernels/cuda/cudnn_attention_plans.hpp"
#include "kernels/cuda/scratch_plan.hpp"
#include "kernels/cuda/trial_memory.hpp"
#include "kernels/shared_library.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr std::size_t kElement_bytes = 2;

constexpr LibraryVersion kLeast{9, 6, 0};

void check_version() {
  require_version(
      "cuDNN", LibraryVersion::of_number(static_cast<int>(cudnnGetVersion())), kLeast,
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
  explicit Library(Choices& of_device) : plans(of_device), choices(of_device) {}

  void forward(const CudnnForwardGraph& graph, const CudnnPlan& plan, const AttentionForwardArgs& args,
               const AttentionShape& shape, Workspace& workspace);
  bool backward_apart(cudaStream_t stream, const AttentionBackwardArgs& args, const AttentionShape& shape,
                      Workspace& workspace);
  bool backward_from_scores(cudaStream_t stream, const AttentionBackwardArgs& args,
                            const AttentionShape& whole, Workspace& workspace);
  const CudnnPlanned<CudnnBackwardGraph>& backward_plan(cudaStream_t stream, QuerySums sums,
                                                        const AttentionBackwardArgs& args,
                                                        const AttentionShape& shape, Workspace& workspace);
  void backward(cudaStream_t stream, QuerySums sums, const CudnnBackwardGraph& graph, const CudnnPlan& plan,
                const AttentionBackwardArgs& args, const AttentionShape& shape, Workspace& workspace);
  bool lacks(const char* pass, const AttentionShape& shape);

  std::mutex mutex;
  CudnnAttentionPlans plans;
  Choices& choices;
  cudnnHandle_t cudnn = nullptr;  // on the stream of the call under way
};

CudnnAttention::CudnnAttention(Choices& choices) : library_(std::make_unique<Library>(choices)) {
  check_version();
}
CudnnAttention::~CudnnAttention() = default;

// Says so once: what composes it is a tenth as fast.
bool CudnnAttention::Library::lacks(const char* pass, const AttentionShape& shape) {
  choices.say("attention of " + std::to_string(shape.heads) + " heads of " + std::to_string(shape.head_size) +
              ", T " + std::to_string(shape.length) + ", runs on own kernels, some ten times slower: cuDNN " +
              LibraryVersion::of_number(static_cast<int>(cudnnGetVersion())).text() +
              " has no plan for its " + pass + " pass on this GPU" +
              (choices.deterministic() ? " that always gives the same bits (device.deterministic)" : ""));
  return false;
}

bool CudnnAttention::takes(DType dtype, const AttentionShape& shape,
                           std::initializer_list<const void*> pointers) {
  if (!cudnn_takes(dtype, shape)) {
    if (dtype == DType::bf16 && shape.sequences > 0 && shape.length > 1)
      library_->choices.say(
          "attention of heads of " + std::to_string(shape.head_size) +
          " numbers runs on own kernels, some ten times slower: cuDNN takes multiples of 8 up to 256");
    return false;
  }
  return are_aligned(pointers);
}

bool CudnnAttention::forward(cudaStream_t stream, const AttentionForwardArgs& args, Workspace& workspace) {
  const AttentionShape shape = attention_shape_of(args.out, args.heads);
  if (!takes(args.qkv.dtype, shape, {args.qkv.data, args.out.data, args.log_sum_exp.data})) return false;
  const std::lock_guard lock(library_->mutex);
  library_->cudnn = library_->plans.handle_on(stream);
  const auto run = [&](const CudnnForwardGraph& graph, const CudnnPlan& plan) {
    library_->forward(graph, plan, args, shape, workspace);
  };
  const Tensor outputs[] = {args.out, args.log_sum_exp};
  const auto& [graph, plan] = library_->plans.forward(stream, shape, run, outputs);
  if (!plan) return library_->lacks("forward", shape);
  run(graph, *plan);
  return true;
}

void CudnnAttention::Library::forward(const CudnnForwardGraph& graph, const CudnnPlan& plan,
                                      const AttentionForwardArgs& args, const AttentionShape& shape,
                                      Workspace& workspace) {
  Numbers numbers(shape);
  const std::size_t part_bytes = shape.hidden() * kElement_bytes;
  plan.execute(cudnn,
               {{graph.q, args.qkv.data},
                {graph.k, at(args.qkv.data, part_bytes)},
                {graph.v, at(args.qkv.data, 2 * part_bytes)},
                {graph.scale, &numbers.scale},
                {graph.masked, &numbers.masked},
                {graph.out, args.out.data},
                {graph.log_sum_exp, args.log_sum_exp.data}},
               workspace.take(plan.workspace_bytes()));
}

// Sums apart where bits may differ, or an engine says that they never do (Hopper's later ones); else from the scores' gradients,
// which costs their way to memory and back.
bool CudnnAttention::backward(cudaStream_t stream, const AttentionBackwardArgs& args, Workspace& workspace) {
  const AttentionShape shape = attention_shape_of(args.out, args.heads);
  if (!takes(args.qkv.dtype, shape,
             {args.qkv.data, args.out.data, args.d_out.data, args.log_sum_exp.data, args.d_qkv.data}))
    return false;
  const std::lock_guard lock(library_->mutex);
  library_->cudnn = library_->plans.handle_on(stream);
  if (library_->backward_apart(stream, args, shape, workspace)) return true;
  if (library_->choices.deterministic() && library_->backward_from_scores(stream, args, shape, workspace))
    return true;
  return library_->lacks("backward", shape);
}

bool CudnnAttention::Library::backward_apart(cudaStream_t stream, const AttentionBackwardArgs& args,
                                             const AttentionShape& shape, Workspace& workspace) {
  const auto& [graph, plan] = backward_plan(stream, QuerySums::apart, args, shape, workspace);
  if (plan) backward(stream, QuerySums::apart, graph, *plan, args, shape, workspace);
  return plan.has_value();
}

bool CudnnAttention::Library::backward_from_scores(cudaStream_t stream, const AttentionBackwardArgs& args,
                                                   const AttentionShape& whole, Workspace& workspace) {
  const std::int64_t most = sequences_of_launch(whole, true);
  const std::int64_t row = whole.length * whole.hidden(),
                     statistics = std::int64_t{whole.length} * whole.heads;
  AttentionShape shape = whole;
  const auto launch_from = [&](std::int64_t first) {
    shape.sequences = std::min(most, whole.sequences - first);
    const auto part = [&](const Tensor& x, std::int64_t size) {
      return x.part(first * size, {shape.sequences * size});
    };
    return AttentionBackwardArgs{part(args.qkv, 3 * row),   part(args.out, row),
                                 part(args.d_out, row),     part(args.log_sum_exp, statistics),
                                 part(args.d_qkv, 3 * row), args.heads};
  };
  // All plans first: it is cuDNN for every sequence or for none.
  for (std::int64_t first = 0; first < whole.sequences; first += most) {
    const AttentionBackwardArgs launch = launch_from(first);
    if (!backward_plan(stream, QuerySums::from_scores, launch, shape, workspace).plan) return false;
  }
  for (std::int64_t first = 0; first < whole.sequences; first += most) {
    const AttentionBackwardArgs launch = launch_from(first);
    const auto& [graph, plan] = backward_plan(stream, QuerySums::from_scores, launch, shape, workspace);
    backward(stream, QuerySums::from_scores, graph, *plan, launch, shape, workspace);
  }
  return true;
}

// Trials write to scratch memory of their own, or to the gradient that is to come: in place they may not, as they read q, k
// and v again. Without that memory nothing is tried.
const CudnnPlanned<CudnnBackwardGraph>& CudnnAttention::Library::backward_plan(
    cudaStream_t stream, QuerySums sums, const AttentionBackwardArgs& args, const AttentionShape& shape,
    Workspace& workspace) {
  if (const auto* const known = plans.known_backward(shape, sums)) return *known;
  const bool in_place = args.d_qkv.data == args.qkv.data;
  std::optional<TrialMemory> memory;
  AttentionBackwardArgs trial = args;
  if (in_place && choices.may_try()) {
    memory.emplace(stream, args.d_qkv.bytes());
    trial.d_qkv.data = memory->data();
  }
  const auto run = [&](const CudnnBackwardGraph& graph, const CudnnPlan& plan) {
    backward(stream, sums, graph, plan, trial, shape, workspace);
  };
  return plans.backward(stream, shape, sums, run, std::span(&trial.d_qkv, trial.d_qkv.data ? 1 : 0));
}

// cuDNN does not say that gradients may overwrite q, k and v: in place they go to scratch memory first.
// (GPT-2 124M with 32 sequences: 0.3 GB moved per layer, about 1 % of a step.)
void CudnnAttention::Library::backward(cudaStream_t stream, QuerySums sums, const CudnnBackwardGraph& graph,
                                       const CudnnPlan& plan, const AttentionBackwardArgs& args,
                                       const AttentionShape& shape, Workspace& workspace) {
  const bool in_place = args.d_qkv.data == args.qkv.data;
  const CudnnBackwardScratch scratch(shape, sums == QuerySums::from_scores, in_place,
                                     static_cast<std::size_t>(plan.workspace_bytes()));
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
  plan.execute(cudnn, tensors, at(memory, scratch.cudnn));
  if (in_place)
    TENAX_CUDA_CHECK(
        cudaMemcpyAsync(args.d_qkv.data, d_qkv, args.d_qkv.bytes(), cudaMemcpyDeviceToDevice, stream));
}

std::optional<std::size_t> CudnnAttention::known_backward_bytes(const AttentionShape& whole,
                                                                bool in_place) const {
  const std::lock_guard lock(library_->mutex);
  const auto bytes_of = [&](const AttentionShape& shape, QuerySums sums) -> std::optional<std::size_t> {
    const auto* const known = library_->plans.known_backward(shape, sums);
    if (!known || !known->plan) return {};
    return CudnnBackwardScratch(shape, sums == QuerySums::from_scores, in_place,
                                static_cast<std::size_t>(known->plan->workspace_bytes()))
        .bytes;
  };
  if (const auto apart = bytes_of(whole, QuerySums::apart)) return apart;
  AttentionShape launch = whole;
  launch.sequences = sequences_of_launch(whole, true);
  if (const auto from_scores = bytes_of(launch, QuerySums::from_scores)) return from_scores;
  if (!library_->plans.known_backward(whole, QuerySums::apart)) return {};
  return OwnBackwardScratch(whole, DType::bf16, in_place).bytes;
}

}  // namespace tenax::kernels::cuda
