// Matrix products on the GPU: cuBLASLt, one algorithm per shape, chosen at its first use.
//
// What is fused: the bias into every product, GELU into linear_gelu_forward, GELU's derivative into
// linear_gelu_backward_input (bf16 only: cuBLASLt does not say how exact its tanh is, and fp32 must be exact
// to 1e-5). Bias gradients are not: cuBLASLt 13.1's product with BGRADA takes a fifth to two fifths more time
// than the product alone on an H100, more than reading d_y once more (tests/bench/README.md).
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "kernels/cuda/choices.hpp"
#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// The products of one device and the algorithms chosen so far. Thread rule: any thread.
///
/// The first use of a big shape measures algorithms (tens of milliseconds, on a stream and in memory of its
/// own: what is on `stream` neither waits nor matters), unless `choices` knows what an earlier run took. If that
/// is deterministic, only those that give the same bits as the one that cuBLASLt's heuristics put first are
/// compared, so that every run computes the same, whatever the clock says (matmul_search.hpp). Once choices are
/// settled, and while `stream` is captured, nothing is measured: a shape unseen until then gets the heuristics'
/// first. All throw Error(rank) when cuBLASLt fails, or has no algorithm for a shape.
class CudaMatmul {
 public:
  /// For the device that is current. `choices` must outlive it.
  explicit CudaMatmul(Choices& choices);
  ~CudaMatmul();
  CudaMatmul(const CudaMatmul&) = delete;
  CudaMatmul& operator=(const CudaMatmul&) = delete;

  void matmul(cudaStream_t stream, const MatmulArgs& args, Workspace& workspace);

  /// These return false, with nothing enqueued, where the fusion does not exist (fp32, fp64, odd shapes):
  /// then the caller composes it. y is GELU of the sum before that is rounded to `pre`.
  bool linear_gelu_forward(cudaStream_t stream, const LinearGeluForwardArgs& args, Workspace& workspace);
  bool linear_gelu_backward_input(cudaStream_t stream, const LinearGeluBackwardInputArgs& args,
                                  Workspace& workspace);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace tenax::kernels::cuda
