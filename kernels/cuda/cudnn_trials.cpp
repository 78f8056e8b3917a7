#include "kernels/cuda/cudnn_trials.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/matmul_plan.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/trial_memory.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr double kTrialLimit_s = 60;
constexpr int kTrialRounds = 3;

void wait(cudaStream_t stream) {
  wait_until([&] { return passed(cudaStreamQuery(stream), "cudaStreamQuery(stream)"); },
             Deadline::after_s(kTrialLimit_s), "the GPU", "attention on trial");
}

std::uint64_t checksum_of(cudaStream_t stream, std::span<const Tensor> outputs, std::uint64_t* sum) {
  TENAX_CUDA_CHECK(cudaMemsetAsync(sum, 0, sizeof(std::uint64_t), stream));
  for (const Tensor& output : outputs)
    add_checksum(stream, output.data, static_cast<std::int64_t>(output.bytes() / sizeof(std::uint64_t)), sum);
  std::uint64_t value = 0;
  wait(stream);  // copying to memory that is not pinned blocks: it finds the stream idle
  TENAX_CUDA_CHECK(cudaMemcpyAsync(&value, sum, sizeof value, cudaMemcpyDeviceToHost, stream));
  wait(stream);
  return value;
}

double seconds_of(cudaStream_t stream, const CudnnPlan& plan, const CudnnTrial& trial) {
  const OwnedEvent begin = create_event(cudaEventDefault), end = create_event(cudaEventDefault);
  float least_ms = 0;
  for (int round = 0; round < kTrialRounds; ++round) {
    TENAX_CUDA_CHECK(cudaEventRecord(begin.get(), stream));
    trial.run(plan);
    TENAX_CUDA_CHECK(cudaEventRecord(end.get(), stream));
    wait(stream);
    float now_ms = 0;
    TENAX_CUDA_CHECK(cudaEventElapsedTime(&now_ms, begin.get(), end.get()));
    least_ms = round == 0 ? now_ms : std::min(least_ms, now_ms);
  }
  return 1e-3 * static_cast<double>(least_ms);
}

/// `sum`: of the device, for checksums.
Trial trial_of(cudaStream_t stream, const CudnnPlan& plan, const CudnnTrial& trial, std::uint64_t* sum) {
  Trial result;
  try {
    trial.run(plan);  // loads its kernels
  } catch (const Error&) {
    return result;
  }
  result.bits = checksum_of(stream, trial.outputs, sum);
  result.ran = true;
  result.seconds = seconds_of(stream, plan, trial);
  return result;
}

}  // namespace

std::size_t best_plan(cudaStream_t stream, std::span<const CudnnPlan> plans, bool same_bits,
                      const CudnnTrial& trial) {
  const TrialMemory memory(stream, sizeof(std::uint64_t));
  if (!memory.data()) return 0;
  std::vector<Trial> trials;
  for (const CudnnPlan& plan : plans)
    trials.push_back(trial_of(stream, plan, trial, static_cast<std::uint64_t*>(memory.data())));
  return best_of(trials, same_bits);
}

}  // namespace tenax::kernels::cuda
