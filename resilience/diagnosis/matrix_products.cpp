#include "resilience/diagnosis/matrix_products.hpp"

#include <algorithm>

#include "kernels/deadline.hpp"
#include "kernels/random.hpp"

namespace tenax::resilience {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

constexpr double kWait_s = 60;

// Random numbers: zeros cost a GPU less power, and so less time. Blocks of them repeat, which no matrix unit notices.
void fill(kernels::Device& device, kernels::Stream& stream, const Tensor& tensor) {
  constexpr std::int64_t kBlock = 1 << 16;
  const std::int64_t block = std::min(kBlock, tensor.size());
  const auto host =
      device.allocate(static_cast<std::size_t>(block) * sizeof(float), kernels::MemoryKind::pinned_host);
  const auto staging = device.allocate(host->bytes());
  const kernels::CounterRandom random(1, "matrix");
  const Tensor numbers = host->tensor(DType::f32, {block}), staged = staging->tensor(DType::f32, {block});
  for (std::int64_t i = 0; i < block; ++i)
    numbers.as<float>()[i] = static_cast<float>(random.uniform(static_cast<std::uint64_t>(i))) - 0.5F;
  device.kernels().copy(stream, numbers, staged);
  for (std::int64_t at = 0; at < tensor.size(); at += block) {
    const std::int64_t count = std::min(block, tensor.size() - at);
    device.kernels().cast(stream, staged.part(0, {count}), tensor.part(at, {count}));
  }
  stream.synchronize(Deadline::after_s(kWait_s));
}

}  // namespace

MatrixProducts::MatrixProducts(kernels::Device& device, kernels::Stream& stream, DType compute,
                               std::int64_t n)
    : device_(device), stream_(stream), begin_(device.create_event()), end_(device.create_event()), n_(n) {
  const std::size_t bytes = static_cast<std::size_t>(n * n) * bytes_of(compute);
  if (device.has_data()) memory_ = device.allocate(MatrixProducts::bytes(compute, n));
  const auto matrix = [&](std::size_t i) {
    return memory_ ? memory_->tensor(compute, {n, n}, i * bytes) : Tensor{nullptr, compute, {n, n}};
  };
  args_.a = matrix(0);
  args_.b = matrix(1);
  args_.c = matrix(2);
  if (memory_) fill(device, stream_, memory_->tensor(compute, {2 * n * n}));
  seconds(1);
}

double MatrixProducts::flop() const {
  const auto n = static_cast<double>(n_);
  return 2 * n * n * n;
}

double MatrixProducts::seconds(int products) {
  stream_.input_arrived(kernels::steady_now_s());
  stream_.record(*begin_);
  for (int i = 0; i < products; ++i) device_.kernels().matmul(stream_, args_);
  stream_.record(*end_);
  stream_.synchronize(Deadline::after_s(kWait_s));
  return end_->time_s() - begin_->time_s();
}

}  // namespace tenax::resilience
