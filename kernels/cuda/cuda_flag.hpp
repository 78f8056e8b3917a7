// Flags of a CUDA device: a word of pinned host memory that the device sees at the same address.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_context.hpp"
#include "kernels/device.hpp"

namespace tenax::kernels::cuda {

/// Streams reach it by stream memory operations, which occupy no multiprocessor while they wait. 32 bits need
/// no atomics across PCIe: aligned words are written whole. A stream's set() comes after a fence of the whole
/// system, so the host that sees the value sees what the stream copied before. A stream's wait() needs no
/// flush of remote writes: what the host wrote before the flag lies in host memory, and the device reads it
/// after the flag.
class CudaFlag final : public Flag {
 public:
  explicit CudaFlag(std::shared_ptr<CudaContext> context);
  ~CudaFlag() override;
  CudaFlag(const CudaFlag&) = delete;
  CudaFlag& operator=(const CudaFlag&) = delete;

  std::uint32_t value() const override;
  void set(std::uint32_t value) override;

  /// With the device current.
  void set_by(cudaStream_t stream, std::uint32_t value) const;
  void hold(cudaStream_t stream, std::uint32_t value) const;

 private:
  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(word_); }

  std::shared_ptr<CudaContext> context_;
  std::uint32_t* word_;
};

}  // namespace tenax::kernels::cuda
