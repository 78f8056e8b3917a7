#include "kernels/cuda/cuda_wait.hpp"

#include "kernels/cuda/check.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {

bool passed(cudaError_t status, const char* call) {
  if (status == cudaErrorNotReady) return false;
  check_cuda(status, call);
  return true;
}

void wait_until(const std::function<bool()>& is_passed, Deadline deadline, const CudaContext& context,
                const char* what) {
  Backoff backoff;
  while (!is_passed()) {
    if (deadline.expired())
      throw Error(Scope::rank,
                  context.name() + ": gave up waiting for " + what +
                      ": what was enqueued before it has not ended (a message that never came, or "
                      "much work); see this rank's other errors, or raise comm.deadline_s");
    backoff.pause();
  }
}

}  // namespace tenax::kernels::cuda
