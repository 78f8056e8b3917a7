// The cuDNN plans of one device's attention.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "kernels/cuda/choices.hpp"
#include "kernels/cuda/cudnn_attention_graph.hpp"

namespace tenax::kernels::cuda {

class CudnnHandle {
 public:
  CudnnHandle() { TENAX_CUDNN_CHECK(cudnnCreate(&handle_)); }
  ~CudnnHandle() { cudnnDestroy(handle_); }
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

/// A graph, and the plan for it; absent where cuDNN has none.
template <class Graph>
struct CudnnPlanned {
  template <class... Arguments>
  explicit CudnnPlanned(const Arguments&... arguments) : graph(arguments...) {}
  Graph graph;
  std::optional<CudnnPlan> plan;
};

/// What candidates are tried out on: the operation's own tensors, whose outputs each overwrites. Where there are none,
/// nothing is tried.
struct CudnnTrial {
  std::function<void(const CudnnPlan&)> run;
  std::span<const Tensor> outputs;
};

/// Makes each plan at its first use. Of cuDNN's first few candidates the fastest is taken; where choices are deterministic the
/// fastest of those that write the bits of the first. Once they are settled nothing is tried: the first is taken. What an
/// earlier run took is taken again. Thread rule: one thread at a time.
class CudnnAttentionPlans {
 public:
  /// `choices` must outlive it.
  explicit CudnnAttentionPlans(Choices& choices) : choices_(choices) {}

  const Choices& choices() const { return choices_; }
  /// cuDNN, which then enqueues on `stream`.
  cudnnHandle_t handle_on(cudaStream_t stream);
  template <class Graph>
  using Run = std::function<void(const Graph&, const CudnnPlan&)>;
  /// After handle_on(stream). `run` and `outputs` as in CudnnTrial. Throw Error(rank) where `stream` is captured and the plan
  /// would have to be made now.
  const CudnnPlanned<CudnnForwardGraph>& forward(cudaStream_t stream, const AttentionShape& shape,
                                                 const Run<CudnnForwardGraph>& run,
                                                 std::span<const Tensor> outputs);
  const CudnnPlanned<CudnnBackwardGraph>& backward(cudaStream_t stream, const AttentionShape& shape,
                                                   QuerySums sums, const Run<CudnnBackwardGraph>& run,
                                                   std::span<const Tensor> outputs);
  /// Null where it was not asked for yet.
  const CudnnPlanned<CudnnBackwardGraph>* known_backward(const AttentionShape& shape, QuerySums sums) const;

 private:
  std::optional<CudnnPlan> choose(cudaStream_t stream, const std::string& what, const CudnnGraph& graph,
                                  const CudnnTrial& trial);

  Choices& choices_;
  std::optional<CudnnHandle> handle_;  // outlives the plans
  std::map<AttentionShape, CudnnPlanned<CudnnForwardGraph>> forward_of_shape_;
  std::map<std::pair<AttentionShape, QuerySums>, CudnnPlanned<CudnnBackwardGraph>> backward_of_shape_;
};

}  // namespace tenax::kernels::cuda
