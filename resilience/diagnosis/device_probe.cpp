#include "resilience/diagnosis/device_probe.hpp"

#include <algorithm>
#include <cmath>

namespace tenax::resilience {
namespace {

using kernels::DType;

constexpr int kTimes = 3;
/// [n, n]: some 15 ms of a core, which ranks that share a host's caches do not slow each other down in; on a GPU
/// large enough to fill it.
constexpr std::int64_t kSmall = 768, kLarge = 2048;
/// A product that is faster shows a GPU. (Its stand-in is a CPU.)
constexpr double kShort_s = 1e-3;
constexpr double kTimed_s = 5e-3;  ///< well above what a launch takes
constexpr double kMostInARow = 64;

}  // namespace

DeviceProbe::DeviceProbe(kernels::Device& device) : stream_(device.create_stream()) {
  stream_->use_threads(device.threads());
  tests_.push_back(make_test(device, DType::f32));
  if (device.has_data()) tests_.push_back(make_test(device, DType::bf16));
  const std::vector<ProductTime> healthy = run({});
  for (std::size_t i = 0; i < tests_.size(); ++i) tests_[i].healthy_s = healthy[i].seconds;
}

std::size_t DeviceProbe::bytes(kernels::DeviceKind kind, std::size_t scratch_bytes) {
  if (kind == kernels::DeviceKind::emulated) return 0;
  const std::int64_t n = kind == kernels::DeviceKind::cuda ? kLarge : kSmall;
  return MatrixProducts::bytes(DType::f32, n) + MatrixProducts::bytes(DType::bf16, n) + scratch_bytes;
}

DeviceProbe::Test DeviceProbe::make_test(kernels::Device& device, DType type) {
  auto products = std::make_unique<MatrixProducts>(device, *stream_, type, kSmall);
  if (!device.is_asynchronous() || products->seconds(1) > kShort_s) return {type, std::move(products), 1, 0};
  products = std::make_unique<MatrixProducts>(device, *stream_, type, kLarge);
  const double in_a_row = std::ceil(kTimed_s / std::max(products->seconds(1), 1e-6));
  return {type, std::move(products), static_cast<int>(std::min(in_a_row, kMostInARow)), 0};
}

std::vector<ProductTime> DeviceProbe::run(const std::function<double()>& preempted_s) {
  std::vector<ProductTime> times;
  if (preempted_s) preempted_s();
  for (const Test& test : tests_) {
    double seconds = 0;
    for (int time = 0; time < kTimes; ++time) seconds += test.products->seconds(test.in_a_row);
    const double products = kTimes * test.in_a_row;
    times.push_back({.type = test.type,
                     .seconds = seconds / products,
                     .healthy_s = test.healthy_s,
                     .preempted_s = preempted_s ? preempted_s() / products : 0});
  }
  return times;
}

double DeviceProbe::healthy_seconds() const {
  double seconds = 0;
  for (const Test& test : tests_) seconds += kTimes * test.in_a_row * test.healthy_s;
  return seconds;
}

}  // namespace tenax::resilience
