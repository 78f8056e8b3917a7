#include "kernels/cuda/trial_bench.hpp"

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/matmul_call.hpp"
#include "kernels/cuda/operations.hpp"
#include "kernels/deadline.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

constexpr double kLimit_s = 60;
constexpr std::size_t kAlignment = 256;
enum Seed : std::uint64_t { kSeedOfA = 1, kSeedOfB, kSeedOfBias, kSeedOfD, kSeedOfAux };

std::size_t bytes_for(std::int64_t count, DType dtype) {
  return (static_cast<std::size_t>(count) * bytes_of(dtype) + kAlignment - 1) / kAlignment * kAlignment;
}

std::int64_t words_of(std::int64_t count, DType dtype) {
  return static_cast<std::int64_t>(bytes_for(count, dtype) / sizeof(std::uint64_t));
}

}  // namespace

TrialBench::OwnedEvent TrialBench::new_event() {
  cudaEvent_t event = nullptr;
  TENAX_CUDA_CHECK(cudaEventCreate(&event));
  return OwnedEvent(event);
}

TrialBench::TrialBench(const MatmulPlan& plan) : plan_(plan), begin_(new_event()), end_(new_event()) {
  cudaStream_t stream = nullptr;
  TENAX_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  stream_.reset(stream);
  const std::size_t bytes = lay_out(0);
  memory_.emplace(stream, bytes);
  if (!has_memory()) return;
  lay_out(reinterpret_cast<std::uintptr_t>(memory_->data()));
  // Checksums are of whole words: padding counts, and is zero.
  TENAX_CUDA_CHECK(cudaMemsetAsync(memory_->data(), 0, bytes, stream));
  fill_inputs();
}

// A failure here has been, or will be, reported by another call.
TrialBench::~TrialBench() {
  if (!has_memory()) return;
  memory_.reset();
  try {
    wait();
    trim_trial_memory();
  } catch (const Error&) {
  }
}

// Where each operand begins if memory begins at `begin`; returns the bytes of all.
std::size_t TrialBench::lay_out(std::uintptr_t begin) {
  std::uintptr_t end = begin;
  const auto take = [&end](std::size_t bytes) {
    void* const place = reinterpret_cast<void*>(end);
    end += bytes;
    return place;
  };
  operands_.a = take(bytes_for(plan_.size_of_a(), plan_.input));
  operands_.b = take(bytes_for(plan_.size_of_b(), plan_.input));
  operands_.d = take(bytes_for(plan_.size_of_d(), plan_.output));
  if (has_aux(plan_.epilogue)) operands_.aux = take(bytes_for(plan_.size_of_d(), plan_.output));
  if (has_bias(plan_.epilogue)) operands_.bias = take(bytes_for(plan_.m, plan_.output));
  workspace_ = take(kMatmulWorkspace_bytes);
  sum_ = static_cast<std::uint64_t*>(take(kAlignment));
  return end - begin;
}

void TrialBench::fill_inputs() {
  const auto fill = [this](const void* data, DType dtype, std::int64_t count, Seed seed) {
    fill_with_trial_values(stream(), const_cast<void*>(data), dtype, count, seed);
  };
  fill(operands_.a, plan_.input, plan_.size_of_a(), kSeedOfA);
  fill(operands_.b, plan_.input, plan_.size_of_b(), kSeedOfB);
  if (operands_.bias) fill(operands_.bias, plan_.output, plan_.m, kSeedOfBias);
}

void TrialBench::reset_outputs() {
  fill_with_trial_values(stream(), operands_.d, plan_.output, plan_.size_of_d(), kSeedOfD);
  if (operands_.aux)  // d_gelu's is an input: the numbers it has
    fill_with_trial_values(stream(), operands_.aux, plan_.output, plan_.size_of_d(), kSeedOfAux);
}

void TrialBench::copy_aux_to_d() {
  TENAX_CUDA_CHECK(cudaMemcpyAsync(operands_.d, operands_.aux, bytes_for(plan_.size_of_d(), plan_.output),
                                   cudaMemcpyDeviceToDevice, stream()));
}

std::uint64_t TrialBench::checksum_of_outputs() {
  const std::int64_t words = words_of(plan_.size_of_d(), plan_.output);
  TENAX_CUDA_CHECK(cudaMemsetAsync(sum_, 0, sizeof *sum_, stream()));
  add_checksum(stream(), operands_.d, words, sum_);
  if (operands_.aux) add_checksum(stream(), operands_.aux, words, sum_);
  wait();  // copying to memory that is not pinned blocks: it finds the stream idle
  std::uint64_t sum = 0;
  TENAX_CUDA_CHECK(cudaMemcpyAsync(&sum, sum_, sizeof sum, cudaMemcpyDeviceToHost, stream()));
  wait();
  return sum;
}

double TrialBench::seconds_of(const std::function<void()>& enqueue) {
  TENAX_CUDA_CHECK(cudaEventRecord(begin_.get(), stream()));
  enqueue();
  TENAX_CUDA_CHECK(cudaEventRecord(end_.get(), stream()));
  wait();
  float milliseconds = 0;
  TENAX_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
  return 1e-3 * static_cast<double>(milliseconds);
}

void TrialBench::wait() {
  const Deadline deadline = Deadline::after_s(kLimit_s);
  Backoff backoff;
  cudaError_t status = cudaSuccess;
  while ((status = cudaStreamQuery(stream())) == cudaErrorNotReady) {
    if (deadline.expired())
      throw Error(Scope::rank,
                  "the GPU did not end a matrix product on trial within a minute: something else "
                  "holds it; see nvidia-smi");
    backoff.pause();
  }
  check_cuda(status, "cudaStreamQuery");
}

}  // namespace tenax::kernels::cuda
