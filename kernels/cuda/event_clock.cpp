#include "kernels/cuda/event_clock.hpp"

#include <limits>
#include <utility>

#include "kernels/cuda/check.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr int kTries = 8;
/// Of one try. The stream is empty, so it takes microseconds; where ranks share a GPU, until this rank's
/// turn.
constexpr double kTryLimit_s = 0.05;

}  // namespace

EventClock::EventClock(double anchor_life_s, double patience_s) : anchor_life_s_(anchor_life_s) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  anchor_.error_s = kNone;
  const Deadline deadline = Deadline::after_s(patience_s);
  while (anchor_.error_s == kNone && !deadline.expired()) renew();
  if (anchor_.error_s == kNone)
    throw Error(Scope::rank, "the GPU does not answer: it passed no event of an empty stream within " +
                                 std::to_string(patience_s) + " s; see nvidia-smi for what else runs on it");
}

bool EventClock::drop(Anchor& anchor) const {
  const double before_s = steady_now_s();
  TENAX_CUDA_CHECK(cudaEventRecord(anchor.event.get(), stream_.get()));
  cudaError_t status = cudaErrorNotReady;
  double after_s = before_s;
  while (status == cudaErrorNotReady && after_s - before_s < kTryLimit_s) {
    status = cudaEventQuery(anchor.event.get());
    after_s = steady_now_s();
  }
  if (status == cudaErrorNotReady) return false;
  TENAX_CUDA_CHECK(status);
  anchor.time_s = (before_s + after_s) / 2;
  anchor.error_s = (after_s - before_s) / 2;
  return true;
}

void EventClock::renew() {
  renewed_s_ = steady_now_s();
  bool renewed = false;
  for (int i = 0; i < kTries && drop(trial_); ++i) {
    if (renewed && trial_.error_s >= anchor_.error_s) continue;
    std::swap(trial_, anchor_);
    renewed = true;
  }
}

double EventClock::time_s(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  if (steady_now_s() - renewed_s_ > anchor_life_s_) renew();
  float milliseconds = 0;
  TENAX_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, anchor_.event.get(), event));
  return anchor_.time_s + 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace tenax::kernels::cuda
