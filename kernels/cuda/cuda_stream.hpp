// Streams and graphs of a CUDA device.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_context.hpp"
#include "kernels/cuda/workspace.hpp"
#include "kernels/device.hpp"

namespace tenax::kernels::cuda {

class CudaGraph final : public Graph {
 public:
  /// Owns `executable`. The streams it was captured from keep the scratch memory that its operations use:
  /// they outlive it.
  explicit CudaGraph(cudaGraphExec_t executable) : executable_(executable) {}
  ~CudaGraph() override { cudaGraphExecDestroy(executable_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  cudaGraphExec_t executable() const { return executable_; }

 private:
  cudaGraphExec_t executable_;
};

/// A stream that its context knows.
class KnownStream {
 public:
  explicit KnownStream(std::shared_ptr<CudaContext> context);
  ~KnownStream() { context_->remove(stream_.get()); }
  KnownStream(const KnownStream&) = delete;
  KnownStream& operator=(const KnownStream&) = delete;
  cudaStream_t get() const { return stream_.get(); }

 private:
  std::shared_ptr<CudaContext> context_;
  OwnedStream stream_;
};

/// Waits for no other stream but by events and flags. All streams have one priority: what copies runs on
/// engines of its own, and collectives hold few multiprocessors.
///
/// A capture concerns the calling thread only (cudaStreamCaptureModeThreadLocal): other threads may allocate
/// and ask for events meanwhile, this one may not. Streams that wait for an event recorded within join it,
/// and have to be waited for by this one before its end. Flags cannot be of use in a graph: the value would
/// be the same at each launch.
class CudaStream final : public Stream {
 public:
  explicit CudaStream(std::shared_ptr<CudaContext> context);

  void record(Event& event) override;
  void wait(const Event& event) override;
  void set(Flag& flag, std::uint32_t value) override;
  void wait(const Flag& flag, std::uint32_t value) override;
  void begin_capture() override;
  std::unique_ptr<Graph> end_capture() override;
  void launch(Graph& graph) override;
  void* native_handle() override { return stream_.get(); }
  void reserve_scratch(std::size_t bytes) override;
  void synchronize(Deadline deadline) override;

  /// Makes the device current for the calling thread: what an operation is enqueued with.
  cudaStream_t current();
  Workspace& workspace() { return workspace_; }

 private:
  std::shared_ptr<CudaContext> context_;
  KnownStream stream_;
  Workspace workspace_;  // released before its stream
};

}  // namespace tenax::kernels::cuda
