#include "app/machine/machine_rate.hpp"

#include <algorithm>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/random.hpp"

namespace tenax::app {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

namespace {

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

/// Products of one size, [n, n] each.
class Products {
 public:
  Products(kernels::Device& device, DType compute, std::int64_t n)
      : device_(device),
        stream_(device.create_stream()),
        n_(n),
        memory_(device.allocate(static_cast<std::size_t>(3 * n * n) * bytes_of(compute))) {
    const auto matrix = [&](std::size_t i) {
      return memory_->tensor(compute, {n, n}, i * static_cast<std::size_t>(n * n) * bytes_of(compute));
    };
    args_.a = matrix(0);
    args_.b = matrix(1);
    args_.c = matrix(2);
    fill(device, *stream_, memory_->tensor(compute, {2 * n * n}));
    seconds(1);  // warm: the library prepares itself
  }
  double flop() const {
    return 2.0 * static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(n_);
  }
  double seconds(int products) {
    const double begin_s = kernels::steady_now_s();
    for (int i = 0; i < products; ++i) device_.kernels().matmul(*stream_, args_);
    stream_->synchronize(Deadline::after_s(kWait_s));
    return kernels::steady_now_s() - begin_s;
  }

 private:
  kernels::Device& device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::int64_t n_;
  std::unique_ptr<kernels::Buffer> memory_;
  kernels::MatmulArgs args_;
};

}  // namespace

double measure_matmul_rate(kernels::Device& device, DType compute) {
  constexpr std::int64_t kSmall = 768, kLarge = 8192;
  constexpr double kBudget_s = 0.1, kShort_s = 1e-3;
  auto products = std::make_unique<Products>(device, compute, kSmall);
  int at_once = 1;
  // A GPU: only large products fill it, and only several in a row hide the launch. (Its stand-in is a CPU.)
  if (device.is_asynchronous() && products->seconds(1) < kShort_s) {
    products = std::make_unique<Products>(device, compute, kLarge);
    at_once = 5;
  }
  double best = 0;
  for (const double start_s = kernels::steady_now_s(); kernels::steady_now_s() - start_s < kBudget_s;)
    best = std::max(best, at_once * products->flop() / products->seconds(at_once));
  return best;
}

}  // namespace tenax::app
