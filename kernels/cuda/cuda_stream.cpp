#include "kernels/cuda/cuda_stream.hpp"

#include <cassert>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cuda_event.hpp"
#include "kernels/cuda/cuda_flag.hpp"
#include "kernels/cuda/driver_calls.hpp"

namespace tenax::kernels::cuda {
namespace {

/// Ours, of whatever device: interfaces are handed out by one device only.
template <class Ours, class Interface>
Ours& ours(Interface& theirs) {
  assert(dynamic_cast<Ours*>(&theirs) && "events, flags and graphs belong to the device of their stream");
  return static_cast<Ours&>(theirs);
}

}  // namespace

KnownStream::KnownStream(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {
  context_->make_current();
  stream_ = create_stream();
  context_->add(stream_.get());
}

CudaStream::CudaStream(std::shared_ptr<CudaContext> context)
    : context_(std::move(context)), stream_(context_), workspace_(context_, stream_.get()) {}

cudaStream_t CudaStream::current() {
  context_->make_current();
  return stream_.get();
}

void CudaStream::record(Event& event) { ours<CudaEvent>(event).record_on(current()); }

void CudaStream::wait(const Event& event) { ours<const CudaEvent>(event).hold(current()); }

void CudaStream::set(Flag& flag, std::uint32_t value) { ours<CudaFlag>(flag).set_by(current(), value); }

void CudaStream::wait(const Flag& flag, std::uint32_t value) {
  ours<const CudaFlag>(flag).hold(current(), value);
}

void CudaStream::begin_capture() {
  TENAX_CUDA_CHECK(cudaStreamBeginCapture(current(), cudaStreamCaptureModeThreadLocal));
}

std::unique_ptr<Graph> CudaStream::end_capture() {
  cudaGraph_t graph = nullptr;
  TENAX_CUDA_CHECK(cudaStreamEndCapture(current(), &graph));
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  TENAX_CUDA_CHECK(cudaGraphDestroy(graph));
  check_cuda(status, "cudaGraphInstantiate(&executable, graph, 0)");
  return std::make_unique<CudaGraph>(executable);
}

void CudaStream::launch(Graph& graph) {
  TENAX_CUDA_CHECK(cudaGraphLaunch(ours<CudaGraph>(graph).executable(), current()));
}

void CudaStream::reserve_scratch(std::size_t bytes) {
  context_->make_current();
  workspace_.take(bytes);
}

void CudaStream::synchronize(Deadline deadline) {
  const cudaStream_t stream = current();
  wait_until([&] { return passed(cudaStreamQuery(stream), "cudaStreamQuery(stream)"); }, deadline,
             context_->name(), "a stream to be empty");
}

}  // namespace tenax::kernels::cuda
