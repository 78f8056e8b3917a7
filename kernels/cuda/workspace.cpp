#include "kernels/cuda/workspace.hpp"

#include <algorithm>
#include <string>

#include "kernels/cuda/cuda_context.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/scratch_plan.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {

Workspace::Workspace(std::shared_ptr<CudaContext> context, cudaStream_t stream)
    : context_(std::move(context)), stream_(stream) {}

Workspace::~Workspace() {
  for (void* memory : outgrown_) context_->release(memory);
  if (memory_) context_->release(memory_);
}

void* Workspace::take(std::size_t bytes) {
  if (bytes <= bytes_) return memory_;
  if (is_captured(stream_))
    throw Error(Scope::rank, "an operation that is being captured needs " + std::to_string(bytes) +
                                 " bytes of scratch memory, its stream has " + std::to_string(bytes_) +
                                 ": run it once with these shapes before the capture");
  const std::size_t grown = std::max(bytes, kLeastWorkspace_bytes);
  void* const memory = context_->allocate(grown);
  if (memory_) outgrown_.push_back(memory_);
  memory_ = memory;
  bytes_ = grown;
  return memory_;
}

}  // namespace tenax::kernels::cuda
