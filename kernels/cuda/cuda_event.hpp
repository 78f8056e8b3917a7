// Events of a CUDA device.
#pragma once

#include <atomic>
#include <memory>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cuda_context.hpp"
#include "kernels/device.hpp"

namespace tenax::kernels::cuda {

/// Recorded in one thread, it may be asked in others.
///
/// In a capture it is two things at once: an external record, by which each launch of the graph moves the
/// mark that the host and other streams see, and a point inside the graph on which the captured streams join.
/// So times of operations are there with graphs too.
class CudaEvent final : public Event {
 public:
  explicit CudaEvent(std::shared_ptr<CudaContext> context);

  bool done() const override;
  void wait(Deadline deadline) const override;
  double time_s() const override;

  /// With the device current.
  void record_on(cudaStream_t stream);
  void hold(cudaStream_t stream) const;

 private:
  std::shared_ptr<CudaContext> context_;
  OwnedEvent mark_;
  OwnedEvent joint_;                             ///< made by the first capture that records here
  std::atomic<unsigned long long> capture_ = 0;  ///< in which it was last recorded; 0: in none
  std::atomic<bool> recorded_ = false;
};

}  // namespace tenax::kernels::cuda
