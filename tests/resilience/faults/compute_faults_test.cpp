// Devices that are slow on purpose: how much at which time, and the same bits.
#include "resilience/faults/compute_faults.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "kernels/deadline.hpp"
#include "kernels/kernels.hpp"

namespace tenax::resilience {
namespace {

using kernels::DType;
using kernels::Stream;
using kernels::Tensor;

ComputeFault slow_compute(double factor, const FaultWindow& window = {}) {
  return {.window = window, .factor = factor, .trace = nullptr};
}

TEST(ComputeFaults, hold_in_their_window_and_not_before_the_first_step) {
  ComputeFaults faults({slow_compute(3, {.from_step = 1, .to_step = 2})});
  EXPECT_EQ(faults.factor(), 1);
  const double expected[] = {1, 3, 1};
  for (int step = 0; step < 3; ++step) {
    faults.begin_step(step);
    EXPECT_EQ(faults.factor(), expected[step]);
  }
}

TEST(ComputeFaults, multiply) {
  ComputeFaults faults({slow_compute(3), slow_compute(2)});
  faults.begin_step(0);
  EXPECT_EQ(faults.factor(), 6);
}

TEST(ComputeFaults, follow_a_trace_and_are_healthy_before_its_first_time) {
  ComputeFault fault;
  fault.trace = std::make_shared<io::FaultTrace>(std::vector<io::FaultTrace::Point>{{100, 2}, {200, 1.5}},
                                                 io::kTracedFactor);
  ComputeFaults faults({fault});
  faults.begin_step(0);
  const auto began = FaultClock::Clock::now();
  EXPECT_EQ(faults.factor(began), 1);
  EXPECT_EQ(faults.factor(began + std::chrono::seconds(101)), 2);
  EXPECT_EQ(faults.factor(began + std::chrono::seconds(201)), 1.5);
}

class SlowEmulatedDevice : public ::testing::Test {
 protected:
  /// The stream's own time.
  double mark_s() {
    const auto event = device_->create_event();
    stream_->record(*event);
    return event->time_s();
  }

  ComputeFaults faults_{{slow_compute(3, {.from_step = 1})}};
  std::unique_ptr<kernels::EmulatedDevice> device_ =
      faults_.wrap(kernels::create_emulated_device({.copy_s = 0.001, .probe_s = 0.002}));
  std::unique_ptr<Stream> stream_ = device_->create_stream();
};

TEST_F(SlowEmulatedDevice, is_occupied_for_as_many_times_as_long) {
  faults_.begin_step(0);
  const double begin_s = mark_s();
  device_->occupy(*stream_, 0.002);
  EXPECT_NEAR(mark_s(), begin_s + 0.002, 1e-8);
  faults_.begin_step(1);
  device_->occupy(*stream_, 0.002);
  EXPECT_NEAR(mark_s(), begin_s + 0.008, 1e-8);
}

TEST_F(SlowEmulatedDevice, multiplies_slowly_too_but_copies_as_ever) {
  faults_.begin_step(1);
  kernels::sleep_until_s(mark_s() + 0.2);  // the stream is idle: that is not the product's time
  const double first_s = kernels::steady_now_s();
  device_->kernels().matmul(*stream_, {});
  EXPECT_GE(mark_s(), first_s + 0.006 - 1e-8);
  EXPECT_LT(mark_s(), first_s + 0.2);
  stream_->input_arrived(kernels::steady_now_s());
  const double begin_s = mark_s();
  std::vector<std::byte> host(8);
  device_->kernels().copy(*stream_, {host.data(), DType::f32, {2}}, {nullptr, DType::f32, {2}});
  EXPECT_NEAR(mark_s(), begin_s + 0.001, 1e-8);
}

/// c = a · b of 256 x 256 values.
struct Product {
  static constexpr std::int64_t kSize = 256;
  std::vector<float> a = std::vector<float>(kSize * kSize, 0.5F), b = a, c = a;
  Product() {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 17) - 8.3F;
  }
  Tensor tensor(std::vector<float>& values) { return {values.data(), DType::f32, {kSize, kSize}}; }
  /// The seconds of each of some runs.
  std::vector<double> run_s(kernels::Device& device, Stream& stream) {
    std::vector<double> seconds(10);
    for (double& run_s : seconds) {
      const double begin_s = kernels::steady_now_s();
      device.kernels().matmul(stream, {.a = tensor(a), .b = tensor(b), .c = tensor(c), .bias = {}});
      run_s = kernels::steady_now_s() - begin_s;
    }
    return seconds;
  }
};

TEST(SlowCpu, multiplies_to_the_same_bits_in_as_many_times_the_time) {
  const auto healthy = kernels::create_cpu_device();
  ComputeFaults faults({slow_compute(20)});
  const auto device = faults.wrap(kernels::create_cpu_device());
  faults.begin_step(0);
  const auto healthy_stream = healthy->create_stream(), stream = device->create_stream();
  Product expected, product;
  const std::vector<double> own_s = expected.run_s(*healthy, *healthy_stream);
  const std::vector<double> slow_s = product.run_s(*device, *stream);
  // The sum: a run whose sleep ended late is followed by shorter ones.
  const double slow_sum_s = std::accumulate(slow_s.begin(), slow_s.end(), 0.0);
  EXPECT_GT(slow_sum_s,
            4 * static_cast<double>(slow_s.size()) * *std::min_element(own_s.begin(), own_s.end()));
  EXPECT_EQ(product.c, expected.c);
  EXPECT_EQ(device->kind(), kernels::DeviceKind::cpu);
}

}  // namespace
}  // namespace tenax::resilience
