// TrialBench: a stream, and the operands of one product full of random numbers, for trying algorithms out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "kernels/cuda/matmul_plan.hpp"
#include "kernels/cuda/trial_memory.hpp"

namespace tenax::kernels::cuda {

/// Its memory goes back to the device when the bench goes. Thread rule: one thread. All throw Error(rank) when
/// the device breaks.
class TrialBench {
 public:
  explicit TrialBench(const MatmulPlan& plan);
  ~TrialBench();
  TrialBench(const TrialBench&) = delete;
  TrialBench& operator=(const TrialBench&) = delete;

  /// False where there is no TrialMemory: then nothing else may be called.
  bool has_memory() const { return memory_->data() != nullptr; }
  cudaStream_t stream() const { return stream_.get(); }
  const MatmulOperands& operands() const { return operands_; }
  void* workspace() const { return workspace_; }

  /// What the product writes gets random numbers: the same each time, so that what is not written, or
  /// added to, shows.
  void reset_outputs();
  void copy_aux_to_d();
  /// Waits for it.
  std::uint64_t checksum_of_outputs();
  /// How long what `enqueue` enqueues takes. Waits for it.
  double seconds_of(const std::function<void()>& enqueue);

 private:
  std::size_t lay_out(std::uintptr_t begin);
  void fill_inputs();
  void wait();

  struct Destroy {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  using OwnedEvent = std::unique_ptr<CUevent_st, Destroy>;
  static OwnedEvent new_event();

  MatmulPlan plan_;
  std::unique_ptr<CUstream_st, Destroy> stream_;
  OwnedEvent begin_, end_;
  std::optional<TrialMemory> memory_;  // of stream_
  MatmulOperands operands_;
  void* workspace_ = nullptr;
  std::uint64_t* sum_ = nullptr;
};

}  // namespace tenax::kernels::cuda
