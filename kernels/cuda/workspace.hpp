// Scratch memory of a stream, for what an operation needs between its own kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace tenax::kernels::cuda {

class CudaContext;

/// Thread rule: its stream's.
class Workspace {
 public:
  Workspace(std::shared_ptr<CudaContext> context, cudaStream_t stream);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// `bytes` of device memory, aligned to 256 bytes, contents arbitrary, valid until the next take(): one
  /// take() per operation, which divides it among its needs. The next operation of the stream may be given
  /// the same memory, as the stream's order allows. Grows where it must, and then keeps what it had: a stream
  /// that trains takes all it will need first (scratch_plan.hpp). Never grows while the stream is being
  /// captured: an operation that is captured has to have run once with these shapes. Throws Error(rank)
  /// otherwise, and when the device is full.
  void* take(std::size_t bytes);

 private:
  std::shared_ptr<CudaContext> context_;
  cudaStream_t stream_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  /// Operations already enqueued, and graphs, still use what was outgrown.
  std::vector<void*> outgrown_;
};

}  // namespace tenax::kernels::cuda
