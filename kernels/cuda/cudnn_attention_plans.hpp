// The cuDNN plans of one device's attention.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <optional>

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

/// A graph, and cuDNN's plan for it where it has one.
template <class Graph>
struct CudnnPlanned {
  template <class... Arguments>
  CudnnPlanned(cudnnHandle_t handle, bool deterministic, const Arguments&... arguments)
      : graph(arguments...), plan(CudnnPlan::find(handle, graph.graph, deterministic)) {}
  Graph graph;
  std::optional<CudnnPlan> plan;
};

/// Makes each plan at its first use. Thread rule: one thread at a time.
class CudnnAttentionPlans {
 public:
  explicit CudnnAttentionPlans(bool deterministic) : deterministic_(deterministic) {}

  bool deterministic() const { return deterministic_; }
  /// cuDNN, which then enqueues on `stream`.
  cudnnHandle_t handle_on(cudaStream_t stream);
  /// After handle_on(stream). Throw Error(rank) where `stream` is captured and the plan would have to
  /// be made now.
  const CudnnPlanned<CudnnForwardGraph>& forward(cudaStream_t stream, const AttentionShape& shape);
  const CudnnPlanned<CudnnBackwardGraph>& backward(cudaStream_t stream, const AttentionShape& shape);

 private:
  bool deterministic_;
  std::optional<CudnnHandle> handle_;  // outlives the plans
  std::map<AttentionShape, CudnnPlanned<CudnnForwardGraph>> forward_of_shape_;
  std::map<AttentionShape, CudnnPlanned<CudnnBackwardGraph>> backward_of_shape_;
};

}  // namespace tenax::kernels::cuda
