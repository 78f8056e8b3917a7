// DeviceProbe: how long matrix products take a rank's device, now and when the run began.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "resilience/diagnosis/matrix_products.hpp"
#include "resilience/diagnosis/validation_messages.hpp"

namespace tenax::resilience {

/// One is made at the run's start and kept with its matrices, so that a device that has become full
/// can still be tested: 11 MB on the CPU, 75 MB on a GPU, where several small products in a row
/// take as long as a large one that would need ten times the memory.
class DeviceProbe {
 public:
  /// Runs the test as run() does, for the healthy seconds; so make it on all ranks at once. Throws
  /// Error(rank) when there is no memory. `device` must outlive this.
  explicit DeviceProbe(kernels::Device& device);

  /// Three times the products of each compute type, fp32 and bf16 (on the emulated device, to which
  /// they are alike, fp32 alone); their mean. `preempted_s` tells for how long this rank's threads
  /// were kept from running since it was last asked; it may be empty.
  std::vector<ProductTime> run(const std::function<double()>& preempted_s);
  /// What it keeps on a device of this kind, at most: its matrices, and the `scratch_bytes` that products take
  /// of their stream (Device::scratch_bytes of no microbatch).
  static std::size_t bytes(kernels::DeviceKind kind, std::size_t scratch_bytes);

  /// What run() took when the run began.
  double healthy_seconds() const;

 private:
  struct Test {
    kernels::DType type;
    std::unique_ptr<MatrixProducts> products;
    int in_a_row;  ///< so many count as one: what is over at once cannot be timed
    double healthy_s;
  };
  Test make_test(kernels::Device& device, kernels::DType type);

  std::unique_ptr<kernels::Stream> stream_;  // one for all tests: each takes scratch memory
  std::vector<Test> tests_;
};

}  // namespace tenax::resilience
