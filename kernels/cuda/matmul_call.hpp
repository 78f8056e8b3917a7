// MatmulCall: one planned product as cuBLASLt's descriptors.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/matmul_plan.hpp"

namespace tenax::kernels::cuda {

/// What a product may use of its stream's workspace: cuBLASLt's advice for Hopper.
inline constexpr std::size_t kMatmulWorkspace_bytes = std::size_t{32} << 20;

/// Cheap to build, so built for each call. Not copied: descriptors refer to each other by address. Thread
/// rule: one thread.
class MatmulCall {
 public:
  /// Throws Error(rank) where cuBLASLt refuses an attribute.
  MatmulCall(const MatmulPlan& plan, const MatmulOperands& operands);
  MatmulCall(const MatmulCall&) = delete;
  MatmulCall& operator=(const MatmulCall&) = delete;

  /// Algorithms for operands aligned as these are, at most `count`, in the order of cuBLASLt's estimates: the
  /// same list in every run on such a device. Partial sums of an inner index that is split are kept in the
  /// accumulation type and added in a fixed order. Empty where there is none for this plan.
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms(cublasLtHandle_t handle, int count);
  /// Whether an algorithm that was found for other extents does for these.
  bool admits(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm);
  /// Enqueues the product. `workspace`: kMatmulWorkspace_bytes. Accumulating adds to what d holds.
  cublasStatus_t run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm, void* workspace,
                     cudaStream_t stream);

 private:
  void describe_epilogue();

  MatmulPlan plan_;
  MatmulOperands operands_;
  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t a_, b_, d_;
};

}  // namespace tenax::kernels::cuda
